//! Turns of requests that would conflict: of two for the same thing one waits for the other.

use std::{
    hash::{DefaultHasher, Hash, Hasher as _},
    sync::LazyLock,
};

use tokio::sync::{Semaphore, SemaphorePermit};

use super::{Context, reply::cancelled};
use crate::error::Failure;

/// Which of them a thing has is decided by its hash.
static TURNS: LazyLock<Vec<Semaphore>> =
    LazyLock::new(|| (0..TURNS_COUNT).map(|_| Semaphore::new(1)).collect());

const TURNS_COUNT: usize = 256;

/// How often a request is tried that has its turn. Others that work on the same thing in a
/// transaction of several writes may still be first.
pub(super) const ATTEMPTS: usize = 20;

/// Waits for the turn of a request that works on a thing of its caller's tenant.
pub(super) async fn turn(
    cx: &Context,
    thing: impl Hash,
) -> Result<SemaphorePermit<'static>, Failure> {
    let mut hasher = DefaultHasher::new();
    (&cx.caller().tenant, thing).hash(&mut hasher);
    let turn = hasher.finish() % TURNS_COUNT as u64;
    let turn = &TURNS[usize::try_from(turn).unwrap_or(0)];
    tokio::select! {
        turn = turn.acquire() => turn.map_err(|_| cancelled()),
        () = cx.cancel().cancelled() => Err(cancelled()),
    }
}
