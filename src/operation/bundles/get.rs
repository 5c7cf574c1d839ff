//! Answers a bundle with its files.

use std::sync::Arc;

use super::item;
use crate::auth::{Permission, ROLE_ADMIN};
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{self, bundles},
};
use crate::operation::{Access, Context, Family, Operation, Output, paging};

pub(in crate::operation) struct GetBundle {
    namespace: Arc<str>,
    bundle: String,
}

impl Operation for GetBundle {
    type Payload = bundles::Select;
    type Answer = bundles::Described;

    const REQUEST: EventType = EventType::BundleGetRequest;
    const RESPONSE: EventType = EventType::BundleGetResponse;
    const FAMILY: Family = Family::Model;
    const ACCESS: Access = Access::Read;
    const NEEDS: Permission = Permission::Role(ROLE_ADMIN);

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: bundles::Select = payload::decode(payload)?;
        Ok(Self {
            namespace: paging::namespace(request.namespace)?,
            bundle: request.bundle,
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let tenant = &cx.caller().tenant;
        let view = cx.registry().bundle(tenant, &self.namespace, &self.bundle);
        let mut view = view.await?;
        let files = std::mem::take(&mut view.files).into_iter();
        let files = files.map(|file| bundles::File {
            path: file.path,
            text: file.text,
        });
        Ok(Output::one(bundles::Described {
            files: files.collect(),
            item: item(view),
        }))
    }
}
