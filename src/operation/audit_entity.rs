//! The audit trail of an entity, newest first (`rest.md` §5).

use super::{
    Access, Context, Family, Operation, Output,
    audit_finished::{machine, unknown},
    get_entity::not_found,
};
use crate::audit::{self, Filter, Item};
use crate::clock::Timestamp;
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{self, audit as wire, entity::entity_id},
};
use crate::id::EntityId;

/// The default number of items.
const LIMIT: i64 = 20;

/// The maximum number of items.
const LIMIT_MAX: i64 = 1_000;

pub(super) struct AuditEntity {
    id: EntityId,
    filter: Filter,
}

impl Operation for AuditEntity {
    type Payload = wire::Get;
    type Answer = wire::Page;

    const REQUEST: EventType = EventType::EntityAuditGetRequest;
    const RESPONSE: EventType = EventType::EntityAuditGetResponse;
    const FAMILY: Family = Family::Search;
    const ACCESS: Access = Access::Read;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: wire::Get = payload::decode(payload)?;
        let wanted = request.event_types.filter(|types| !types.is_empty());
        let wants = |kind: &str| {
            wanted
                .as_ref()
                .is_none_or(|types| types.iter().any(|wanted| wanted == kind))
        };
        // All events have one severity so far.
        let matches = severity(request.severity.as_deref())?;
        let limit = request.limit.unwrap_or(LIMIT);
        if limit < 1 {
            let message = format!("`limit` is {limit}; at least 1 is needed");
            return Err(Failure::bad_parameter("limit", message));
        }
        Ok(Self {
            filter: Filter {
                changes: matches && wants("EntityChange"),
                machine: matches && wants("StateMachine"),
                from: instant("fromUtcTime", request.from_utc_time.as_deref())?,
                to: instant("toUtcTime", request.to_utc_time.as_deref())?,
                transaction: match &request.transaction_id {
                    Some(text) => Some(text.parse().map_err(|_| unknown(text))?),
                    None => None,
                },
                skip: request
                    .cursor
                    .and_then(|cursor| cursor.parse().ok())
                    .unwrap_or(0),
                limit: usize::try_from(limit.min(LIMIT_MAX)).unwrap_or(1),
            },
            id: entity_id(&request.entity_id)?,
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let tenant = &cx.caller().tenant;
        let snapshot = cx.storage().snapshot(tenant, cx.storage().latest()).await?;
        let page = audit::page(&snapshot, self.id, &self.filter)
            .await?
            .ok_or_else(|| not_found(self.id))?;
        let items: Vec<_> = page
            .items
            .into_iter()
            .map(|item| match item {
                Item::Change(change) => {
                    wire::Item::EntityChange(wire::EntityChange::new(self.id, tenant, &change))
                }
                Item::Machine(event) => machine(self.id, event),
            })
            .collect();
        let next = page.has_next.then(|| self.filter.skip + items.len());
        Ok(Output::one(wire::Page {
            items,
            pagination: wire::Pagination::new(next),
        }))
    }
}

/// Whether anything is of that severity.
fn severity(given: Option<&str>) -> Result<bool, Failure> {
    match given {
        None | Some("" | "INFO") => Ok(true),
        Some("ERROR" | "WARN" | "DEBUG") => Ok(false),
        Some(other) => Err(Failure::bad_parameter(
            "severity",
            format!("`severity` is `{other}`; known are ERROR, WARN, INFO, DEBUG"),
        )),
    }
}

fn instant(name: &'static str, text: Option<&str>) -> Result<Option<Timestamp>, Failure> {
    let parse = |text: &str| {
        Timestamp::parse(text)
            .map_err(|error| Failure::bad_parameter(name, format!("`{name}`: {error}")))
    };
    text.map(parse).transpose()
}
