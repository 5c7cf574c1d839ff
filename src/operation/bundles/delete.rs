//! Deletes a bundle. Runs that are live continue.

use std::sync::Arc;

use crate::auth::{Permission, ROLE_ADMIN};
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{self, bundles},
};
use crate::operation::{Access, Context, Family, Operation, Output, paging};
use crate::registry::bundle;

pub(in crate::operation) struct DeleteBundle {
    namespace: Arc<str>,
    bundle: String,
}

impl Operation for DeleteBundle {
    type Payload = bundles::Select;
    type Answer = bundles::Deleted;

    const REQUEST: EventType = EventType::BundleDeleteRequest;
    const RESPONSE: EventType = EventType::BundleDeleteResponse;
    const FAMILY: Family = Family::Model;
    const ACCESS: Access = Access::Write;
    const STORES: bool = false;
    const NEEDS: Permission = Permission::Role(ROLE_ADMIN);

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: bundles::Select = payload::decode(payload)?;
        Ok(Self {
            namespace: paging::namespace(request.namespace)?,
            bundle: request.bundle,
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        cx.refuse_token()?;
        let mut session = cx.session().await?;
        bundle::delete(session.unit()?, &self.namespace, &self.bundle).await?;
        let deleted = bundles::Deleted {
            bundle: self.bundle,
        };
        cx.finish(session, deleted, Vec::new()).await
    }
}
