//! Starting the work of an item: a run of a definition, or a task for a member
//! (`orchestration.md` 3.3).

use std::{collections::BTreeMap, sync::Arc};

use super::tick::StartedWork;
use crate::error::{Code, Failure};
use crate::program::StartedBy;
use crate::runtime::{
    Initiator, Runtime, Session,
    runs::{Invoke, StartRun},
};
use crate::storage::RunName;

/// The priority of tasks for which none is given.
const PRIORITY: u8 = 10;

impl Runtime {
    /// Starts what has that name, in the transaction of a session: a definition that is named
    /// exactly so, else a task that members with its tag are sent. The id of the run may be given.
    pub(super) async fn start_workflow(
        &self,
        session: &mut Session,
        by: &Initiator,
        namespace: &Arc<str>,
        target: &str,
        payload: String,
        id: Option<Box<str>>,
    ) -> Result<StartedWork, Failure> {
        let payload: Arc<str> = payload.into();
        let name = RunName {
            namespace: Arc::clone(namespace),
            name: target.into(),
        };
        let start = StartRun {
            id: id.clone(),
            ..StartRun::new(name, Arc::clone(&payload), StartedBy::Manager)
        };
        match self.start_run(session, by, start).await {
            Ok(started) => return Ok(StartedWork::Run(started.id.into())),
            Err(failure) if failure.code() == Code::RunDefinitionNotFound => {}
            Err(failure) => return Err(failure),
        }
        let invoke = Invoke {
            namespace: Arc::clone(namespace),
            action: target.into(),
            input: payload,
            key: None,
            priority: PRIORITY,
            delay: std::time::Duration::ZERO,
            labels: BTreeMap::new(),
        };
        let task = self.invoke_item(session, by, invoke, id).await?;
        Ok(StartedWork::Task(task.to_string()))
    }
}
