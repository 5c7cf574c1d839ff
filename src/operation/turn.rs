//! Turns of requests that would conflict: of two for the same thing one waits for the other.

use std::{
    collections::HashMap,
    hash::{BuildHasher as _, Hash, RandomState},
    sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{Context, reply::cancelled};
use crate::error::{Code, Failure};

/// The things that requests work on, each by its hash.
///
/// A mutex, not a task: a look-up at the beginning and one at the end of a request.
static LINES: LazyLock<Mutex<HashMap<u64, Line>>> = LazyLock::new(Mutex::default);

/// Drawn at the start, so that nobody can choose names that have the hash of another tenant's.
static HASHER: LazyLock<RandomState> = LazyLock::new(RandomState::new);

/// How often a request is tried that has its turn. Others that work on the same thing in a
/// transaction of several writes may still be first.
const ATTEMPTS: usize = 20;

#[derive(Debug)]
struct Line {
    /// The request that has its turn, and those that wait.
    users: usize,
    turn: Arc<Semaphore>,
}

/// The right to work on a thing. Dropping it lets the next request have its turn.
#[derive(Debug)]
pub(super) struct Turn {
    thing: u64,
    permit: Option<OwnedSemaphorePermit>,
}

fn lines() -> MutexGuard<'static, HashMap<u64, Line>> {
    LINES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits for the turn of a request that works on a thing of its caller's tenant.
pub(super) async fn turn(cx: &Context, thing: impl Hash) -> Result<Turn, Failure> {
    let thing = HASHER.hash_one((&cx.caller().tenant, thing));
    let line = {
        let mut lines = lines();
        let line = lines.entry(thing).or_insert_with(|| Line {
            users: 0,
            turn: Arc::new(Semaphore::new(1)),
        });
        line.users += 1;
        Arc::clone(&line.turn)
    };
    let mut turn = Turn {
        thing,
        permit: None,
    };
    let permit = cx.cancel().run_until_cancelled(line.acquire_owned()).await;
    // It is never closed.
    turn.permit = permit.ok_or_else(cancelled)?.ok();
    Ok(turn)
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

impl Drop for Turn {
    fn drop(&mut self) {
        let mut lines = lines();
        self.permit = None;
        if let Some(line) = lines.get_mut(&self.thing) {
            line.users -= 1;
            if line.users == 0 {
                lines.remove(&self.thing);
            }
        }
    }
}
