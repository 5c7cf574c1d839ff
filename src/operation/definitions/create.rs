//! Creates a version of a definition, or replaces its document.

use std::sync::Arc;

use serde_json::value::RawValue;

use super::{actions::note_unregistered, findings, invalid};
use crate::dialect::Findings;
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{
        self,
        definitions::{self, Change},
    },
};
use crate::operation::{Access, Context, Family, Operation, Output, conditions, paging};
use crate::registry::{self, NewDefinition};
use crate::runtime::again;

pub(in crate::operation) struct CreateDefinition {
    namespace: Arc<str>,
    document: Box<RawValue>,
}

impl Operation for CreateDefinition {
    type Payload = definitions::Create<'static>;
    type Answer = definitions::Created;

    const REQUEST: EventType = EventType::RunDefinitionCreateRequest;
    const RESPONSE: EventType = EventType::RunDefinitionCreateResponse;
    const FAMILY: Family = Family::Model;
    const ACCESS: Access = Access::Write;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: definitions::Create<'_> = payload::decode(payload)?;
        Ok(Self {
            namespace: paging::namespace(request.namespace)?,
            document: request.document.to_owned(),
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        cx.refuse_token()?;
        let Self {
            namespace,
            document,
        } = self;
        let (new, mut found) = read(&cx, &namespace, document).await?;
        let new = new.ok_or_else(|| invalid("document", &found))?;
        note_unregistered(&cx, &namespace, &new, &mut found).await?;
        // The trigger of the definition may move at the same time.
        again(|| store(&cx, &namespace, &new, &found)).await
    }
}

async fn store(
    cx: &Context,
    namespace: &str,
    new: &NewDefinition,
    found: &Findings,
) -> Result<Output<definitions::Created>, Failure> {
    let mut session = cx.session().await?;
    let unit = session.unit()?;
    let now = cx.storage().now();
    let change = match new.create(unit, namespace, now).await? {
        registry::Created::Done(change) => change,
        registry::Created::NameTaken => return Err(taken(new)),
    };
    let created = definitions::Created {
        name: new.document.name.to_string(),
        version: new.document.version.to_string(),
        digest: new.digest.to_string(),
        change: match change {
            registry::Change::Created => Change::Created,
            registry::Change::Replaced => Change::Replaced,
            registry::Change::Unchanged => Change::Unchanged,
        },
        findings: findings(found),
    };
    cx.finish(session, created, Vec::new()).await
}

/// A name that belongs to a saga.
fn taken(new: &NewDefinition) -> Failure {
    let mut found = Findings::default();
    let message = format!(
        "the name {} is that of a saga; choose another",
        new.document.name
    );
    found.error("E109", "name", message);
    invalid("document", &found)
}

/// Reads a document, on a thread of its own if it is large.
pub(super) async fn read(
    cx: &Context,
    namespace: &Arc<str>,
    document: Box<RawValue>,
) -> Result<(Option<NewDefinition>, Findings), Failure> {
    if document.get().len() <= conditions::READ_AT_ONCE {
        return Ok(NewDefinition::read(namespace, &document));
    }
    let namespace = Arc::clone(namespace);
    conditions::reading(cx, move || NewDefinition::read(&namespace, &document)).await
}
