//! Lists bundles by name.

use std::sync::Arc;

use super::item;
use crate::auth::{Permission, ROLE_ADMIN};
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{self, bundles},
};
use crate::operation::{
    Access, Context, Family, Operation, Output,
    paging::{self, Paging},
};

pub(in crate::operation) struct ListBundles {
    namespace: Arc<str>,
    paging: Paging,
}

impl Operation for ListBundles {
    type Payload = bundles::List;
    type Answer = bundles::Page;

    const REQUEST: EventType = EventType::BundlesGetRequest;
    const RESPONSE: EventType = EventType::BundlesGetResponse;
    const FAMILY: Family = Family::Model;
    const ACCESS: Access = Access::Read;
    const NEEDS: Permission = Permission::Role(ROLE_ADMIN);

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: bundles::List = payload::decode(payload)?;
        Ok(Self {
            namespace: paging::namespace(request.namespace)?,
            paging: Paging::read(request.limit, request.cursor.as_deref())?,
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let Paging { limit, after } = self.paging;
        let tenant = &cx.caller().tenant;
        let listed = cx
            .registry()
            .bundles(tenant, &self.namespace, after.as_deref(), limit);
        let (listed, more) = listed.await?;
        let last = listed.last().filter(|_| more);
        let pagination = paging::pagination(last.map(|last| &*last.name));
        Ok(Output::one(bundles::Page {
            pagination,
            items: listed.into_iter().map(item).collect(),
        }))
    }
}
