//! Parses requests and compiles conditions, on separate threads if that takes long; and limits the
//! time of searches.

use std::sync::Arc;

use tokio::{sync::oneshot, time::timeout};

use super::{Context, Operation};
use crate::condition::Condition;
use crate::error::{Code, Failure};
use crate::event::Event;
use crate::pool::Pool;

/// The maximum size of a request with a condition that is parsed on the calling thread, in bytes.
pub(super) const READ_AT_ONCE: usize = 16 << 10;

/// The maximum size of other requests that are parsed on the calling thread, in bytes: about a
/// millisecond.
pub(super) const PLAIN_AT_ONCE: usize = 256 << 10;

/// Reads the request of an operation. A large payload is not kept while the operation is at work.
pub(super) async fn read<O: Operation>(cx: &Context, event: Event) -> Result<O, Failure> {
    let at_once = if O::HAS_CONDITION {
        READ_AT_ONCE
    } else {
        PLAIN_AT_ONCE
    };
    if event.len() <= at_once {
        return O::parse(event.text()?);
    }
    Box::pin(reading(cx, move || O::parse(event.text()?))).await?
}

/// Compiles the patterns of a condition, as far as that takes long.
pub(super) async fn compile(cx: &Context, condition: &Arc<Condition>) -> Result<(), Failure> {
    if !condition.is_to_be_compiled() {
        return Ok(());
    }
    let condition = Arc::clone(condition);
    let party = party(cx).await?;
    let compiling = Pool::for_reading().run(party, move |stop| condition.compile(stop));
    tokio::select! {
        () = compiling => Ok(()),
        () = cx.cancel().cancelled() => Err(Failure::cancelled()),
    }
}

/// Reads something that may hold conditions.
pub(super) async fn reading<T: Send + 'static>(
    cx: &Context,
    read: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Failure> {
    // This is compiled for each type of request, so it is short.
    let (reply, outcome) = oneshot::channel();
    let work = Box::new(move || {
        let _ = reply.send(read());
    });
    on_another_thread(cx, work).await?;
    outcome.await.map_err(|_| Failure::cancelled())
}

/// Does a piece of work when it is the tenant's turn.
async fn on_another_thread(cx: &Context, work: Box<dyn FnOnce() + Send>) -> Result<(), Failure> {
    let party = party(cx).await?;
    tokio::select! {
        () = Pool::for_reading().run(party, move |_| work()) => Ok(()),
        () = cx.cancel().cancelled() => Err(Failure::cancelled()),
    }
}

/// Limits a search to its time limit, and ends it when nobody waits for it.
pub(super) async fn in_time<T>(
    cx: &Context,
    search: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    let limit = cx.search_timeout();
    tokio::select! {
        found = timeout(limit, search) => found.unwrap_or_else(|_| {
            Err(Failure::new(
                Code::SearchTimeout,
                format!(
                    "the search took longer than {limit:?} (INTERLOCK_SEARCH_TIMEOUT); narrow the \
                     condition, declare an index for it, or submit it as a snapshot search"
                ),
            ))
        }),
        () = cx.cancel().cancelled() => Err(Failure::cancelled()),
    }
}

/// Whose share of the threads is used: the tenant's, the same that its searches use. All tenants
/// that have stored nothing yet have one share together.
async fn party(cx: &Context) -> Result<u64, Failure> {
    Ok(cx.storage().party(&cx.caller().tenant).await?)
}
