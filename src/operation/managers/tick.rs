//! Ticks managers: brings their files up to date, and starts what is to be started.

use std::sync::Arc;

use crate::dialect::managers::{WrongPayload, wanted};
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{self, managers},
};
use crate::operation::{Access, Context, Family, Operation, Output, paging};
use crate::runtime::managers::{Processed, StartedItem, StartedWork, Ticked};

pub(in crate::operation) struct TickManagers {
    namespace: Arc<str>,
    named: Option<Vec<String>>,
}

impl Operation for TickManagers {
    type Payload = managers::Tick;
    type Answer = managers::Ticked;

    const REQUEST: EventType = EventType::ManagerTickRequest;
    const RESPONSE: EventType = EventType::ManagerTickResponse;
    const FAMILY: Family = Family::Entity;
    const ACCESS: Access = Access::Write;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let (request, unknown): (managers::Tick, _) = payload::decode_noting(payload)?;
        // A misspelt member would have all managers ticked instead of those that it names.
        if let Some(member) = unknown.first() {
            let message = format!(
                "unknown member `{member}`; `payload` names managers by `managers` or `state_path`"
            );
            return Err(Failure::bad_parameter("payload", message));
        }
        let named = match request.payload {
            None => None,
            Some(payload) => wanted(payload.managers, payload.state_path.as_deref())
                .map_err(|WrongPayload(member, message)| Failure::bad_parameter(member, message))?,
        };
        Ok(Self {
            namespace: paging::namespace(request.namespace)?,
            named,
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        cx.refuse_token()?;
        let (tenant, cancel) = (&cx.caller().tenant, cx.cancel());
        let (runtime, named) = (cx.runtime(), self.named.as_deref());
        let ticking = runtime.tick_managers(tenant, &self.namespace, named, cancel);
        let ticked = ticking.await?;
        cx.remembered(shown(ticked)).await
    }
}

fn shown(ticked: Ticked) -> managers::Ticked {
    let lists = ticked.registry.lists();
    managers::Ticked {
        registry: lists
            .map(|(list, names)| (list.to_owned(), names.to_vec()))
            .collect(),
        processed: ticked.processed.into_iter().map(processed).collect(),
    }
}

fn processed(done: Processed) -> managers::Processed {
    managers::Processed {
        manager: done.manager,
        status: done.status.map(|status| status.as_str().to_owned()),
        changed: done.changed,
        started: done.started.into_iter().map(started).collect(),
        error: done.error,
    }
}

fn started(item: StartedItem) -> managers::Started {
    let (run_id, task_id) = match item.work {
        StartedWork::Run(id) => (Some(id), None),
        StartedWork::Task(id) => (None, Some(id)),
    };
    managers::Started {
        worker: item.worker,
        item: item.item,
        run_id,
        task_id,
    }
}
