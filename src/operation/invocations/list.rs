//! Lists tasks, the newest first.

use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{self, invocations},
};
use crate::operation::{
    Access, Context, Family, Operation, Output,
    paging::{self, Paging},
};
use crate::runtime::runs::{TaskPlace, TaskStatus, TasksAsked};

pub(in crate::operation) struct ListTasks {
    asked: TasksAsked,
}

impl Operation for ListTasks {
    type Payload = invocations::ListTasks;
    type Answer = invocations::Page;

    const REQUEST: EventType = EventType::TasksGetRequest;
    const RESPONSE: EventType = EventType::TasksGetResponse;
    const FAMILY: Family = Family::Search;
    const ACCESS: Access = Access::Read;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: invocations::ListTasks = payload::decode(payload)?;
        let status = |name: String| {
            TaskStatus::from_name(&name).ok_or_else(|| {
                let message = format!(
                    "\"{name}\" is not a status; use pending, running, completed, failed, \
                     cancelled or timed_out"
                );
                Failure::bad_parameter("status", message)
            })
        };
        let paging = Paging::read(request.limit, request.cursor.as_deref())?;
        let before = |place: &String| {
            TaskPlace::parse(place).ok_or_else(|| {
                let message = "the cursor is not valid; use the nextCursor of a page as it is";
                Failure::bad_parameter("cursor", message)
            })
        };
        let statuses = request.status.unwrap_or_default().into_iter();
        Ok(Self {
            asked: TasksAsked {
                namespace: paging::namespace(request.namespace)?,
                name: request.name.map(Into::into),
                statuses: statuses.map(status).collect::<Result<_, _>>()?,
                run: request.run_id,
                before: paging.after.as_ref().map(before).transpose()?,
                limit: paging.limit,
            },
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let tenant = &cx.caller().tenant;
        let (found, next) = tokio::select! {
            found = cx.runtime().list_tasks(tenant, &self.asked) => found?,
            () = cx.cancel().cancelled() => return Err(Failure::cancelled()),
        };
        let next = next.map(|next| next.to_string());
        Ok(Output::one(invocations::Page {
            items: found.into_iter().map(Into::into).collect(),
            pagination: paging::pagination(next.as_deref()),
        }))
    }
}
