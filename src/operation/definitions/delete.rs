//! Deletes a definition, or one version of it. Runs that are live continue.

use std::sync::Arc;

use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{self, definitions},
};
use crate::operation::{Access, Context, Family, Operation, Output, paging, turn::in_turn};
use crate::registry;

pub(in crate::operation) struct DeleteDefinition {
    namespace: Arc<str>,
    name: String,
    version: Option<String>,
}

impl Operation for DeleteDefinition {
    type Payload = definitions::Delete;
    type Answer = definitions::Deleted;

    const REQUEST: EventType = EventType::RunDefinitionDeleteRequest;
    const RESPONSE: EventType = EventType::RunDefinitionDeleteResponse;
    const FAMILY: Family = Family::Model;
    const ACCESS: Access = Access::Write;
    const STORES: bool = false;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: definitions::Delete = payload::decode(payload)?;
        Ok(Self {
            namespace: paging::namespace(request.namespace)?,
            name: request.name,
            version: request.version,
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        cx.refuse_token()?;
        let thing = (&self.namespace, self.name.as_str());
        in_turn(&cx, thing, || self.delete(&cx)).await
    }
}

impl DeleteDefinition {
    async fn delete(&self, cx: &Context) -> Result<Output<definitions::Deleted>, Failure> {
        let mut session = cx.session().await?;
        let version = self.version.as_deref();
        let (unit, now) = (session.unit()?, cx.storage().now());
        let deleted = registry::delete(unit, &self.namespace, &self.name, version, now).await?;
        let deleted = definitions::Deleted {
            name: self.name.clone(),
            deleted,
        };
        cx.finish(session, deleted, Vec::new()).await
    }
}
