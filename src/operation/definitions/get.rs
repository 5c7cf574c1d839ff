//! Answers a version of a definition with its document.

use std::sync::Arc;

use super::texts;
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{self, RawJson, definitions},
};
use crate::operation::{Access, Context, Family, Operation, Output, paging};

pub(in crate::operation) struct GetDefinition {
    namespace: Arc<str>,
    name: String,
    version: Option<String>,
}

impl Operation for GetDefinition {
    type Payload = definitions::Get;
    type Answer = definitions::Described;

    const REQUEST: EventType = EventType::RunDefinitionGetRequest;
    const RESPONSE: EventType = EventType::RunDefinitionGetResponse;
    const FAMILY: Family = Family::Model;
    const ACCESS: Access = Access::Read;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: definitions::Get = payload::decode(payload)?;
        Ok(Self {
            namespace: paging::namespace(request.namespace)?,
            name: request.name,
            version: request.version,
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let tenant = &cx.caller().tenant;
        let described =
            cx.registry()
                .described(tenant, &self.namespace, &self.name, self.version.as_deref());
        let described = described.await?;
        Ok(Output::one(definitions::Described {
            item: described.listed.into(),
            digest: described.digest.to_string(),
            document: RawJson::trusted(described.document.get()),
            disabled_versions: texts(&described.disabled_versions),
            findings: described.findings.into_iter().map(Into::into).collect(),
            plans: described.plans,
        }))
    }
}
