//! Checks a document, and stores nothing.

use std::{iter::successors, sync::Arc};

use serde_json::value::RawValue;

use super::{actions::note_unregistered, create::read, findings};
use crate::clock::Timestamp;
use crate::dialect::flo::{Every, Schedule};
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{self, as_texts, definitions},
};
use crate::operation::{Access, Context, Family, Operation, Output, paging};

/// How many of the next starts of a schedule are answered.
const FIRES: usize = 5;

pub(in crate::operation) struct ValidateDefinition {
    namespace: Arc<str>,
    document: Box<RawValue>,
}

impl Operation for ValidateDefinition {
    type Payload = definitions::Create<'static>;
    type Answer = definitions::Validated;

    const REQUEST: EventType = EventType::RunDefinitionValidateRequest;
    const RESPONSE: EventType = EventType::RunDefinitionValidateResponse;
    const FAMILY: Family = Family::Model;
    const ACCESS: Access = Access::Read;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: definitions::Create<'_> = payload::decode(payload)?;
        Ok(Self {
            namespace: paging::namespace(request.namespace)?,
            document: request.document.to_owned(),
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let (new, mut found) = read(&cx, &self.namespace, self.document).await?;
        if let Some(new) = &new {
            note_unregistered(&cx, &self.namespace, new, &mut found).await?;
        }
        let schedule = new.as_ref().and_then(|new| new.document.schedule.as_ref());
        let now = cx.storage().now();
        Ok(Output::one(definitions::Validated {
            valid: !found.has_errors(),
            findings: findings(&found),
            next_fires: schedule.map(|schedule| as_texts(fires(schedule, now))),
        }))
    }
}

/// When a schedule starts runs, if it is activated now.
fn fires(schedule: &Schedule, now: Timestamp) -> Vec<Timestamp> {
    let next = |after: Timestamp| match &schedule.every {
        Every::Cron(cron) => cron.next(after),
        Every::Interval(interval) => Some(after.after(*interval)),
    };
    let fires = successors(next(now), |last| next(*last));
    fires.take(FIRES).collect()
}
