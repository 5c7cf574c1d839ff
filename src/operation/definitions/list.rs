//! Lists definitions by name.

use std::sync::Arc;

use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{self, definitions},
};
use crate::operation::{
    Access, Context, Family, Operation, Output,
    paging::{self, Paging},
};
use crate::registry::DefinitionKind;

pub(in crate::operation) struct ListDefinitions {
    namespace: Arc<str>,
    kind: Option<DefinitionKind>,
    paging: Paging,
}

impl Operation for ListDefinitions {
    type Payload = definitions::List;
    type Answer = definitions::Page;

    const REQUEST: EventType = EventType::RunDefinitionsGetRequest;
    const RESPONSE: EventType = EventType::RunDefinitionsGetResponse;
    const FAMILY: Family = Family::Model;
    const ACCESS: Access = Access::Read;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: definitions::List = payload::decode(payload)?;
        let kind = |name: String| {
            DefinitionKind::from_name(&name).ok_or_else(|| {
                let message = format!("\"{name}\" is not a kind of definition; use flo or saga");
                Failure::bad_parameter("kind", message)
            })
        };
        Ok(Self {
            namespace: paging::namespace(request.namespace)?,
            kind: request.kind.map(kind).transpose()?,
            paging: Paging::read(request.limit, request.cursor.as_deref())?,
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let Paging { limit, after } = self.paging;
        let tenant = &cx.caller().tenant;
        let listed =
            cx.registry()
                .definitions(tenant, &self.namespace, self.kind, after.as_deref(), limit);
        let (listed, more) = listed.await?;
        let last = listed.last().filter(|_| more);
        let pagination = paging::pagination(last.map(|last| &*last.name));
        Ok(Output::one(definitions::Page {
            pagination,
            items: listed.into_iter().map(Into::into).collect(),
        }))
    }
}
