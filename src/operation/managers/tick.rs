//! Ticks managers: brings their files up to date, and starts what is to be started.

use std::sync::Arc;

use super::bad;
use crate::dialect::managers::manager_at;
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{self, managers},
};
use crate::operation::{Access, Context, Family, Operation, Output, paging, turn::turn};
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
        let request: managers::Tick = payload::decode(payload)?;
        let mut named = None;
        if let Some(payload) = request.payload {
            named = payload.managers;
            if let Some(path) = payload.state_path {
                let name = manager_at(&path).ok_or_else(|| {
                    let message = format!("`{path}` is not the path of a manager's file");
                    bad("state_path", message)
                })?;
                named.get_or_insert_default().push(name.to_owned());
            }
        }
        Ok(Self {
            namespace: paging::namespace(request.namespace)?,
            named,
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        cx.refuse_token()?;
        // One at a time in a namespace spares work; two start nothing twice all the same.
        let _turn = turn(&cx, ("tick", &self.namespace)).await?;
        let tenant = &cx.caller().tenant;
        let ticking = cx
            .runtime()
            .tick_managers(tenant, &self.namespace, self.named.as_deref());
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
