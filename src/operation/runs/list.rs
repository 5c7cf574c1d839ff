//! Lists runs, the newest first.

use crate::error::{Code, Failure};
use crate::event::{
    EventType,
    payload::{self, runs},
};
use crate::id::RunId;
use crate::operation::{
    Access, Context, Family, Operation, Output,
    paging::{self, Paging},
};
use crate::program::Status;
use crate::runtime::runs::{AttributeFilter, RunsAsked};

pub(in crate::operation) struct ListRuns {
    asked: RunsAsked,
    parent: Option<String>,
    /// There is no such parent.
    is_empty: bool,
}

impl Operation for ListRuns {
    type Payload = runs::List;
    type Answer = runs::Page;

    const REQUEST: EventType = EventType::RunsGetRequest;
    const RESPONSE: EventType = EventType::RunsGetResponse;
    const FAMILY: Family = Family::Search;
    const ACCESS: Access = Access::Read;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: runs::List = payload::decode(payload)?;
        let status = |name: String| {
            Status::from_name(&name).ok_or_else(|| {
                let message = format!(
                    "\"{name}\" is not a status; use pending, running, waiting, completed, \
                     failed, cancelled or timed_out"
                );
                Failure::bad_parameter("status", message)
            })
        };
        let filter = |text: String| {
            AttributeFilter::parse(&text).ok_or_else(|| {
                let message = format!("\"{text}\" is not a filter; use a=x, n<5 or n>5");
                Failure::bad_parameter("attributes", message)
            })
        };
        let entity = |id: String| {
            id.parse().map_err(|_| {
                Failure::bad_parameter("entityId", format!("entityId `{id}` is not a UUID"))
            })
        };
        let paging = Paging::read(request.limit, request.cursor.as_deref())?;
        let before = |number: &String| {
            number.parse().map(RunId::new).map_err(|_| {
                let message = "the cursor is not valid; use the nextCursor of a page as it is";
                Failure::bad_parameter("cursor", message.to_owned())
            })
        };
        let statuses = request.status.unwrap_or_default().into_iter();
        let attributes = request.attributes.unwrap_or_default().into_iter();
        Ok(Self {
            asked: RunsAsked {
                namespace: paging::namespace(request.namespace)?,
                name: request.definition.map(Into::into),
                version: request.version.map(Into::into),
                kind: request.kind.as_deref().map(super::kind).transpose()?,
                statuses: statuses.map(status).collect::<Result<_, _>>()?,
                search: request
                    .search
                    .filter(|text| !text.is_empty())
                    .map(Into::into),
                attributes: attributes.map(filter).collect::<Result<_, _>>()?,
                entity: request.entity_id.map(entity).transpose()?,
                parent: None,
                before: paging.after.as_ref().map(before).transpose()?,
                limit: paging.limit,
            },
            parent: request.parent_run_id,
            is_empty: false,
        })
    }

    async fn run(mut self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let tenant = &cx.caller().tenant;
        if let Some(parent) = &self.parent {
            match cx.runtime().find_run(tenant, parent).await {
                Ok(parent) => self.asked.parent = Some(parent),
                Err(failure) if failure.code() == Code::RunNotFound => self.is_empty = true,
                Err(failure) => return Err(failure),
            }
        }
        let (found, next) = if self.is_empty {
            (Vec::new(), None)
        } else {
            tokio::select! {
                found = cx.runtime().list_runs(tenant, &self.asked) => found?,
                () = cx.cancel().cancelled() => return Err(Failure::cancelled()),
            }
        };
        let next = next.map(|next| next.number().to_string());
        Ok(Output::one(runs::Page {
            items: found.into_iter().map(Into::into).collect(),
            pagination: paging::pagination(next.as_deref()),
        }))
    }
}
