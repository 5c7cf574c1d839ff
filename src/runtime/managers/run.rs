//! Ticks as runs (`runs.md` §8): started by the name of the workflow manager, with a history, and
//! with what a tick answers as the output.
//!
//! The task of such a run is done by this process. After a crash it is done again: what an earlier
//! tick has started is in the files, and is not started twice.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::{Processed, StartedItem, StartedWork, Ticked};
use crate::backoff::Backoff;
use crate::dialect::managers::{WrongPayload, wanted_in};
use crate::error::{Code, Failure};
use crate::id::Tenant;
use crate::program::Answer;
use crate::runtime::{
    Initiator, Runtime,
    incidents::{Fault, contained},
};

/// How often a tick is tried that meets what may pass.
const TRIES: u32 = 8;

/// The pauses before a tick is tried again, or its end is stored again.
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(50), Duration::from_secs(30));

impl Runtime {
    /// Ticks the managers that the input of a run names, beside everything else. A tick that is at
    /// work already stays as it is.
    pub(in crate::runtime) fn tick_for_run(
        &self,
        tenant: &Tenant,
        namespace: &Arc<str>,
        task: Arc<str>,
        input: Arc<str>,
    ) {
        let Some(cancel) = self.0.ticks.begin(tenant, &task, self.0.calls.stop()) else {
            return;
        };
        let (runtime, tenant) = (self.clone(), tenant.clone());
        let namespace = Arc::clone(namespace);
        self.0.calls.spawn(async move {
            let ticking = runtime.tick_of_run(&tenant, &namespace, &input, &cancel);
            if let Some(answer) = ticking.await {
                runtime
                    .keep_reporting(&tenant, &task, answer, &cancel)
                    .await;
            }
            runtime.0.ticks.end(&tenant, &task);
        });
    }

    /// How the tick of a run ended; none if it was stopped.
    async fn tick_of_run(
        &self,
        tenant: &Tenant,
        namespace: &Arc<str>,
        input: &Arc<str>,
        cancel: &CancellationToken,
    ) -> Option<Answer> {
        let by = Initiator {
            cancel: cancel.clone(),
            ..Initiator::system(tenant)
        };
        let text = Arc::clone(input);
        let reading = self.apart_if_large_file(&by, input.len(), move || wanted_in(&text));
        let named = match reading.await {
            Ok(Ok(named)) => named,
            Ok(Err(WrongPayload(_, message))) => {
                return Some(failed(&Failure::new(Code::BadRequest, message)));
            }
            Err(_) if cancel.is_cancelled() => return None,
            Err(failure) => return Some(failed(&failure)),
        };
        let (mut tries, mut backoff) = (1, BACKOFF);
        loop {
            let ticking = self.tick_managers(tenant, namespace, named.as_deref(), cancel);
            let fault = match contained(Box::pin(ticking)).await {
                Ok(ticked) => {
                    return Some(Answer::Outcome {
                        outcome: "success".into(),
                        output: output(ticked).to_string().into(),
                    });
                }
                Err(_) if cancel.is_cancelled() => return None,
                Err(fault) => fault,
            };
            let may_pass = matches!(&fault, Fault::Failed(failure) if failure.retryable());
            if !may_pass || tries == TRIES {
                return Some(failed(&fault.into_failure()));
            }
            warn!(?fault, tenant = %tenant, "the tick of a run failed; it is tried again");
            tries += 1;
            cancel.run_until_cancelled(backoff.wait()).await?;
        }
    }

    /// Stores how the tick of a run ended, until that works or the service stops.
    async fn keep_reporting(
        &self,
        tenant: &Tenant,
        task: &str,
        answer: Answer,
        cancel: &CancellationToken,
    ) {
        let mut backoff = BACKOFF;
        loop {
            let ending = self.tick_ended(tenant, task, answer.clone());
            match contained(Box::pin(ending)).await {
                Ok(()) => return,
                Err(Fault::Failed(failure)) if failure.code() == Code::RunNotFound => return,
                Err(fault) => {
                    warn!(
                        ?fault,
                        task.id = task,
                        "the end of a tick could not be stored; retrying"
                    );
                }
            }
            if cancel.run_until_cancelled(backoff.wait()).await.is_none() {
                return;
            }
        }
    }
}

fn failed(failure: &Failure) -> Answer {
    let output = json!({"error": failure.message(), "error_code": failure.code().as_str()});
    Answer::Outcome {
        outcome: "failure".into(),
        output: output.to_string().into(),
    }
}

/// What a tick has done, as the operation `ManagerTick` answers it.
fn output(ticked: Ticked) -> Value {
    let lists = ticked.registry.lists();
    let lists = lists.map(|(list, names)| (list.to_owned(), json!(names)));
    let processed: Vec<Value> = ticked.processed.into_iter().map(processed).collect();
    json!({"registry": Value::Object(lists.collect()), "processed": processed})
}

fn processed(done: Processed) -> Value {
    let started: Vec<Value> = done.started.iter().map(started).collect();
    let mut shown = json!({"manager": done.manager, "changed": done.changed, "started": started});
    if let Some(status) = done.status {
        shown["status"] = status.as_str().into();
    }
    if let Some(error) = done.error {
        shown["error"] = error.into();
    }
    shown
}

fn started(item: &StartedItem) -> Value {
    let mut shown = json!({"item": item.item});
    if let Some(worker) = item.worker {
        shown["worker"] = worker.into();
    }
    let name = match &item.work {
        StartedWork::Run(_) => "runId",
        StartedWork::Task(_) => "taskId",
    };
    shown[name] = item.work.id().into();
    shown
}
