//! Cancels a run with the runs below it.

use super::wait_for_end;
use crate::error::{Code, Failure};
use crate::event::{
    EventType,
    payload::{self, runs},
};
use crate::id::RunId;
use crate::operation::{Access, Context, Family, Operation, Output};
use crate::program::Status;

/// The reason of a request that says none.
const REASON: &str = "cancelled by user";

/// How often a cancel is tried again that met another advance of the run.
const TRIES: usize = 10;

pub(in crate::operation) struct CancelRun {
    run: String,
    reason: String,
}

impl Operation for CancelRun {
    type Payload = runs::Cancel;
    type Answer = runs::Cancelled;

    const REQUEST: EventType = EventType::RunCancelRequest;
    const RESPONSE: EventType = EventType::RunCancelResponse;
    const FAMILY: Family = Family::Entity;
    const ACCESS: Access = Access::Write;
    const STORES: bool = false;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: runs::Cancel = payload::decode(payload)?;
        Ok(Self {
            run: request.run_id,
            reason: request.reason.unwrap_or_else(|| REASON.to_owned()),
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let by = cx.initiator();
        let _arriving = cx.runtime().arriving(&by.tenant)?;
        let mut tries = 0;
        loop {
            tries += 1;
            let mut session = cx.session_for(0, |_, _| String::new()).await?;
            let runtime = cx.runtime();
            let arrived = runtime
                .cancel_run(&mut session, &by, &self.run, &self.reason)
                .await?;
            let waits = (arrived.is_saga && !arrived.status.is_end()).then_some(arrived.run);
            let answer = runs::Cancelled {
                run_id: self.run.clone(),
                status: arrived.status.as_str().to_owned(),
            };
            let has_joined = session.has_joined();
            match cx.finish(session, answer, Vec::new()).await {
                Ok(output) => {
                    if !has_joined {
                        runtime.after_advance(&by.tenant, arrived);
                        if let Some(run) = waits {
                            return self.compensated(&cx, run).await;
                        }
                    }
                    return Ok(output);
                }
                Err(failure) => {
                    runtime.advance_failed(&by.tenant, &arrived);
                    let again = failure.code() == Code::Conflict && tries < TRIES && !has_joined;
                    if !again {
                        return Err(failure);
                    }
                }
            }
        }
    }
}

impl CancelRun {
    /// Waits until a saga has undone what it had done.
    async fn compensated(
        &self,
        cx: &Context,
        run: RunId,
    ) -> Result<Output<runs::Cancelled>, Failure> {
        wait_for_end(cx, run, cx.runtime().sync_timeout()).await?;
        let stored = cx.storage().run(&cx.caller().tenant, run).await?;
        let has_ended = stored.is_none_or(|stored| stored.ended.is_some());
        let status = if has_ended {
            Status::Cancelled
        } else {
            Status::Running
        };
        Ok(Output::one(runs::Cancelled {
            run_id: self.run.clone(),
            status: status.as_str().to_owned(),
        }))
    }
}
