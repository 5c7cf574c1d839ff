//! Cancels a run with the runs below it.

use super::{
    deliver::{Delivery, deliver},
    wait_for_end,
};
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{self, runs},
};
use crate::id::RunId;
use crate::operation::{Access, Context, Family, Operation, Output};
use crate::program::Status;

/// The reason of a request that says none.
const REASON: &str = "cancelled by user";

/// How many bytes a reason has at most: it is in the state of the run.
const REASON_MAX: usize = 4 << 10;

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
        let reason = request.reason.unwrap_or_else(|| REASON.to_owned());
        if reason.len() > REASON_MAX {
            let message = format!("the reason has more than {REASON_MAX} bytes");
            return Err(Failure::bad_parameter("reason", message));
        }
        Ok(Self {
            run: request.run_id,
            reason,
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let delivery = Delivery::Cancel {
            reason: &self.reason,
        };
        let delivered = deliver(&cx, &self.run, delivery, |arrived| runs::Cancelled {
            run_id: self.run.clone(),
            status: arrived.status.as_str().to_owned(),
        });
        match delivered.await? {
            (output, None) => Ok(output),
            (_, Some(saga)) => self.compensated(&cx, saga).await,
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
        // One that was being undone already ends as what made it fail.
        let status = match stored {
            Some(stored) if stored.ended.is_none() => Status::Running,
            Some(stored) => cx.runtime().run_state(&stored)?.run.status,
            // It was removed since it ended.
            None => Status::Cancelled,
        };
        Ok(Output::one(runs::Cancelled {
            run_id: self.run.clone(),
            status: status.as_str().to_owned(),
        }))
    }
}
