//! Deliveries to runs: signals and cancels.

use std::sync::Arc;

use crate::error::Failure;
use crate::event::payload::Answer;
use crate::id::RunId;
use crate::operation::{Context, Output};
use crate::runtime::runs::{Arrived, Try};

/// What is delivered to a run.
#[derive(Clone)]
pub(super) enum Delivery<'a> {
    Signal { kind: &'a str, payload: Arc<str> },
    Cancel { reason: &'a str },
}

/// Delivers to a run, in a transaction of its own or in that of the request, and answers what came
/// of it. With the answer comes the run that is a saga and still moves, if this was committed.
pub(super) async fn deliver<A: Answer>(
    cx: &Context,
    run: &str,
    delivery: Delivery<'_>,
    answer: impl Fn(&Arrived) -> A,
) -> Result<(Output<A>, Option<RunId>), Failure> {
    let by = cx.initiator();
    let runtime = cx.runtime();
    let _arriving = runtime.arriving(&by.tenant)?;
    let mut tries = runtime.tries(&by.tenant, run);
    loop {
        let attempt = if cx.has_token() {
            // What is part of a transaction does not wait for others of the run: one of them may
            // wait for the transaction.
            Try::FIRST
        } else {
            let attempt = cx.cancel().run_until_cancelled(tries.begin()).await;
            attempt.ok_or_else(Failure::cancelled)?
        };
        let mut session = cx.session_for(0, |_, _| String::new()).await?;
        session.is_try(attempt);
        let mut arrived = match delivery.clone() {
            Delivery::Signal { kind, payload } => {
                runtime
                    .signal_run(&mut session, &by, run, kind, payload)
                    .await?
            }
            Delivery::Cancel { reason } => {
                runtime.cancel_run(&mut session, &by, run, reason).await?
            }
        };
        let moves = (arrived.is_saga && !arrived.status.is_end()).then_some(arrived.run);
        let answer = answer(&arrived);
        let has_joined = session.has_joined();
        if has_joined {
            runtime.follows_commit(&mut session, &mut arrived)?;
        }
        let _critical = cx.critical();
        match cx.finish(session, answer, Vec::new()).await {
            Ok(output) if has_joined => return Ok((output, None)),
            Ok(output) => {
                runtime.after_advance(&by.tenant, &mut arrived);
                return Ok((output, moves));
            }
            Err(failure) => {
                // What it has taken of plans is free before it is tried again.
                drop(arrived);
                if has_joined || !tries.again_after(&failure).await {
                    return Err(failure);
                }
            }
        }
    }
}
