//! Members that are connected to other nodes of a cluster.

use std::{fmt, sync::Arc, time::Duration};

use futures_util::future::BoxFuture;

use super::{Failed, Members, Request, Response, dispatch, member::Member};
use crate::dispatch::{TagMatch, Tags};
use crate::id::{MemberId, Tenant};

/// A member that is connected to another node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RemoteMember {
    /// The number of the node.
    pub node: i64,
    pub member: MemberId,
}

/// Which member of a tenant is looked for.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    pub tenant: &'a Tenant,
    pub tags: &'a Tags,
    pub tag_match: TagMatch,
    /// Only if there is no other.
    pub tried: &'a [MemberId],
    /// Never: they are not connected any more, or have not begun this call.
    pub gone: &'a [MemberId],
}

/// An attempt of a call that another node is to make.
#[derive(Debug)]
pub struct Forwarded<'a> {
    pub place: RemoteMember,
    pub tenant: &'a Tenant,
    pub tags: &'a Tags,
    pub request: Request,
    /// How long the member may take, from when the other node has taken the call over.
    pub patience: Duration,
}

/// What became of it.
#[derive(Debug)]
pub enum RemoteOutcome {
    Answered(Response),
    Failed(Failed),
    /// No such member is connected there any more, or it stops and has not begun the call.
    NoMember,
}

/// The way to them. Dropping a call cancels it there.
pub trait Others: fmt::Debug + Send + Sync {
    fn find<'a>(&'a self, wanted: Wanted<'a>) -> BoxFuture<'a, Option<RemoteMember>>;
    fn call<'a>(&'a self, call: Forwarded<'a>) -> BoxFuture<'a, RemoteOutcome>;
}

/// A member of this node that was chosen for a call of another.
#[derive(Debug)]
pub struct Chosen(Arc<Member>);

impl Members {
    /// Chooses a member of this node for a call of another node: that one, or any other that fits.
    pub fn take(&self, tenant: &Tenant, tags: &Tags, wanted: MemberId) -> Option<Chosen> {
        if self.is_leaving() {
            return None;
        }
        let any = Wanted {
            tenant,
            tags,
            tag_match: self.tag_match(),
            tried: &[],
            gone: &[],
        };
        let member = self
            .named(tenant, wanted)
            .filter(|member| !member.is_draining())
            .or_else(|| self.choose(any));
        member.map(Chosen)
    }
}

impl Chosen {
    pub fn member(&self) -> MemberId {
        self.0.id
    }

    /// Makes one attempt; none if the member declines it, because it stops. Dropping the future
    /// abandons it.
    pub async fn call(
        &self,
        request: Request,
        patience: Duration,
    ) -> Option<Result<Response, Failed>> {
        let call = request.call;
        let answered = dispatch::exchange(&self.0, request, patience).await;
        (!self.0.has_declined(call)).then_some(answered)
    }
}
