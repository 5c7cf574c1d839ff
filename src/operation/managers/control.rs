//! Pauses and resumes a manager, and has what failed done again.

use std::sync::Arc;

use super::{file, not_found, of_manager, read};
use crate::dialect::managers::{ItemRef, Manager, NotAManager, Part};
use crate::error::{Code, Failure};
use crate::event::{
    EventType,
    payload::{self, managers},
};
use crate::operation::{Access, Context, Family, Operation, Output, paging, turn::in_turn};
use crate::registry::{Error, Expected, File, Folder};

/// How often a change is tried that others prevent.
const ATTEMPTS: usize = 20;

pub(in crate::operation) struct ControlManager {
    namespace: Arc<str>,
    manager: String,
    change: Change,
}

enum Change {
    Pause,
    Resume,
    Reset {
        worker: Option<Part>,
        item: Option<Part>,
    },
}

impl Operation for ControlManager {
    type Payload = managers::Control;
    type Answer = managers::Controlled;

    const REQUEST: EventType = EventType::ManagerControlRequest;
    const RESPONSE: EventType = EventType::ManagerControlResponse;
    const FAMILY: Family = Family::Entity;
    const ACCESS: Access = Access::Write;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: managers::Control = payload::decode(payload)?;
        let part = |named| match named {
            managers::Named::Number(number) => Part::Number(number),
            managers::Named::Name(name) => Part::Name(name),
        };
        let (worker, item) = (request.worker.map(part), request.item.map(part));
        if item.is_some() && worker.is_none() {
            return Err(Failure::bad_parameter(
                "item",
                "an item is that of a worker; name the `worker`",
            ));
        }
        let change = match &*request.r#do {
            "reset" => Change::Reset { worker, item },
            _ if worker.is_some() => {
                return Err(Failure::bad_parameter(
                    "worker",
                    "only a reset is about one worker",
                ));
            }
            "pause" => Change::Pause,
            "resume" => Change::Resume,
            other => {
                let message = format!("`{other}` is unknown; use pause, resume or reset");
                return Err(Failure::bad_parameter("do", message));
            }
        };
        Ok(Self {
            namespace: paging::namespace(request.namespace)?,
            manager: request.manager,
            change,
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        cx.refuse_token()?;
        let registry = cx.registry();
        if let Some(folder) = registry.folder(&cx.caller().tenant, &self.namespace) {
            let controlled = self.control_in(&cx, folder).await?;
            return cx.remembered(controlled).await;
        }
        in_turn(&cx, (&self.namespace, &self.manager), || self.control(&cx)).await
    }
}

impl ControlManager {
    async fn control(&self, cx: &Context) -> Result<Output<managers::Controlled>, Failure> {
        let (namespace, name) = (&self.namespace, &self.manager);
        let path = file(namespace, name)?;
        let mut session = cx.session().await?;
        let unit = session.unit()?;
        let content = File::content(unit, namespace, &path).await?;
        let content = content.ok_or_else(|| not_found(namespace, name))?;
        let (text, controlled) = self.change(read(cx, content).await?)?;
        if let Some(text) = text {
            File::put(unit, namespace, &path, text.into(), &Expected::Any).await?;
        }
        cx.finish(session, controlled, Vec::new()).await
    }

    /// Changes a manager that is a file in a folder. What somebody writes to it meanwhile is kept.
    async fn control_in(
        &self,
        cx: &Context,
        folder: &Folder,
    ) -> Result<managers::Controlled, Failure> {
        let (namespace, name) = (&self.namespace, &self.manager);
        let path = file(namespace, name)?;
        let turn = folder.turn().await;
        let mut attempt = 1;
        loop {
            let found = folder.find_text(&path).await;
            let found = found.map_err(|error| of_manager(error, namespace, name))?;
            let (text, controlled) = self.change(read(cx, found.content).await?)?;
            let Some(text) = text else {
                return Ok(controlled);
            };
            let expected = Expected::of(&found.version);
            match folder.put(&turn, &path, &text, &expected).await {
                Err(Error::FileModified { .. }) if attempt < ATTEMPTS => attempt += 1,
                written => return Ok(written.map(|_| controlled)?),
            }
        }
    }

    /// Changes a manager as it was read: the new text, if it is another, and what was changed.
    fn change(
        &self,
        manager: Result<Manager, NotAManager>,
    ) -> Result<(Option<String>, managers::Controlled), Failure> {
        let name = &self.manager;
        let mut manager = manager.map_err(|error| {
            let message = format!("the file of {name} is not a manager: {error}; correct it first");
            Failure::new(Code::ValidationFailed, message).with("manager", &**name)
        })?;
        let changed = match &self.change {
            Change::Pause => {
                manager.pause();
                Vec::new()
            }
            Change::Resume => {
                manager.resume();
                Vec::new()
            }
            Change::Reset { worker, item } => manager
                .reset(worker.as_ref(), item.as_ref())
                .map_err(|unknown| Failure::bad_parameter(unknown.0, unknown.1))?,
        };
        let shown = |of: ItemRef| managers::Changed {
            worker: manager.workers[of.worker].order,
            item: of.item,
        };
        let controlled = managers::Controlled {
            manager: name.clone(),
            status: manager.status.as_str().to_owned(),
            changed: changed.into_iter().map(shown).collect(),
        };
        Ok((manager.edited(), controlled))
    }
}
