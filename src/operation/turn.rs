//! Turns of requests that would conflict: of two for the same thing one waits for the other.

use std::{hash::Hash, sync::LazyLock};

use super::Context;
use crate::error::Failure;
use crate::runtime::{Lines, Turn, again};

/// The things that requests work on.
static LINES: LazyLock<Lines> = LazyLock::new(Lines::default);

/// Waits for the turn of a request that works on a thing of its caller's tenant.
pub(super) async fn turn(cx: &Context, thing: impl Hash) -> Result<Turn, Failure> {
    let turn = LINES.turn((&cx.caller().tenant, thing));
    let turn = cx.cancel().run_until_cancelled(turn).await;
    turn.ok_or_else(Failure::cancelled)
}

/// Does the work of a request in its turn; again if others have committed first: those that work on
/// the same thing in a transaction of several writes wait for no turn.
pub(super) async fn in_turn<T, W>(
    cx: &Context,
    thing: impl Hash,
    work: impl Fn() -> W,
) -> Result<T, Failure>
where
    W: Future<Output = Result<T, Failure>>,
{
    let _turn = turn(cx, thing).await?;
    again(work).await
}
