//! Lists incidents by their ids.

use crate::auth::{Permission, ROLE_ADMIN};
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{self, AsText, incidents},
};
use crate::operation::{
    Access, Context, Family, Operation, Output,
    paging::{self, Paging},
};
use crate::storage::Trouble;
use crate::telemetry::measure::IncidentKind;

pub(in crate::operation) struct ListIncidents {
    kind: Option<IncidentKind>,
    paging: Paging,
}

impl Operation for ListIncidents {
    type Payload = incidents::List;
    type Answer = incidents::Page;

    const REQUEST: EventType = EventType::IncidentsGetRequest;
    const RESPONSE: EventType = EventType::IncidentsGetResponse;
    const FAMILY: Family = Family::Search;
    const ACCESS: Access = Access::Read;
    const NEEDS: Permission = Permission::Role(ROLE_ADMIN);

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: incidents::List = payload::decode(payload)?;
        let kind = |name: String| {
            let mut kinds = IncidentKind::ALL.into_iter();
            kinds.find(|kind| kind.as_str() == name).ok_or_else(|| {
                let message = format!("\"{name}\" is not a kind; use run, timer or producer");
                Failure::bad_parameter("kind", message)
            })
        };
        Ok(Self {
            kind: request.kind.map(kind).transpose()?,
            paging: Paging::read(request.limit, request.cursor.as_deref())?,
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let Paging { limit, after } = self.paging;
        let tenant = &cx.caller().tenant;
        let found = cx
            .runtime()
            .incidents(tenant, self.kind, after.as_deref(), limit + 1);
        let (found, pagination) = paging::page(found.await?, limit, |(id, _)| id);
        Ok(Output::one(incidents::Page {
            pagination,
            items: found
                .iter()
                .map(|(id, trouble)| item(id, trouble))
                .collect(),
        }))
    }
}

fn item(id: &str, trouble: &Trouble) -> incidents::Incident {
    let text = |text: &Option<Box<str>>| text.as_ref().map(ToString::to_string);
    incidents::Incident {
        incident_id: id.to_owned(),
        kind: trouble.work.kind().as_str(),
        run_id: text(&trouble.run),
        entity_id: text(&trouble.entity),
        name: text(&trouble.name),
        reason: trouble.reason.to_string(),
        tries: trouble.tries,
        since: AsText(trouble.since()),
    }
}
