//! Waiting for the end of a run.

use std::time::Duration;

use crate::auth;
use crate::error::Failure;
use crate::id::RunId;
use crate::operation::Context;

/// Returns once the run has ended, at the latest after that time; the caller reads it afterwards.
pub(in crate::operation) async fn wait_for_end(
    cx: &Context,
    run: RunId,
    wait: Duration,
) -> Result<(), Failure> {
    let mut end = cx.storage().run_end(run);
    // It may have ended before this began to wait.
    let stored = cx.storage().run(&cx.caller().tenant, run).await?;
    if stored.is_some_and(|stored| stored.ended.is_none()) {
        tokio::select! {
            () = end.reached() => {}
            () = tokio::time::sleep(wait) => {}
            _ = cx.given_up() => {}
            () = cx.login().withdrawn() => return Err(auth::withdrawn()),
        }
    }
    Ok(())
}
