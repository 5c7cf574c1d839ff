//! Turns of requests that would conflict: of two for the same thing one waits for the other.

use std::{hash::Hash, sync::LazyLock};

use super::{Context, reply::cancelled};
use crate::error::{Code, Failure};
use crate::runtime::{Lines, Turn};

/// The things that requests work on.
static LINES: LazyLock<Lines> = LazyLock::new(Lines::default);

/// How often a request is tried that has its turn. Others that work on the same thing in a
/// transaction of several writes may still be first.
const ATTEMPTS: usize = 20;

/// Waits for the turn of a request that works on a thing of its caller's tenant.
pub(super) async fn turn(cx: &Context, thing: impl Hash) -> Result<Turn, Failure> {
    let turn = LINES.turn((&cx.caller().tenant, thing));
    let turn = cx.cancel().run_until_cancelled(turn).await;
    turn.ok_or_else(cancelled)
}

/// Does the work of a request in its turn; again if others have committed first.
pub(super) async fn in_turn<T, W>(
    cx: &Context,
    thing: impl Hash,
    work: impl Fn() -> W,
) -> Result<T, Failure>
where
    W: Future<Output = Result<T, Failure>>,
{
    let _turn = turn(cx, thing).await?;
    let mut attempt = 1;
    loop {
        match work().await {
            Err(failure) if failure.code() == Code::Conflict && attempt < ATTEMPTS => attempt += 1,
            outcome => return outcome,
        }
    }
}
