//! Large requests are read beside the threads that serve.
//!
//! To read a document of megabytes takes tens of milliseconds of a core, in which a thread does
//! nothing for anybody else. So that is left to other threads: to few, and one for each tenant.

use std::{
    collections::HashMap,
    sync::{Arc, LazyLock, Mutex, PoisonError, Weak},
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{Context, Operation, reply::cancelled};
use crate::error::Failure;
use crate::event::Event;
use crate::id::Tenant;

/// From how many bytes on a request is large.
const LARGE_BYTES: usize = 256 << 10;

/// How many large requests are read at once.
const AT_ONCE: usize = 2;

static PLACES: LazyLock<Places> = LazyLock::new(|| Places {
    all: Arc::new(Semaphore::new(AT_ONCE)),
    tenants: Mutex::default(),
});

struct Places {
    all: Arc<Semaphore>,
    /// A mutex, not a task: one look-up for each large request.
    tenants: Mutex<HashMap<Tenant, Weak<Semaphore>>>,
}

impl Places {
    fn of(&self, tenant: &Tenant) -> Arc<Semaphore> {
        let mut tenants = self.tenants.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = tenants.get(tenant).and_then(Weak::upgrade) {
            return known;
        }
        tenants.retain(|_, known| known.strong_count() > 0);
        let made = Arc::new(Semaphore::new(1));
        tenants.insert(tenant.clone(), Arc::downgrade(&made));
        made
    }

    /// A place of the tenant, and then one of all: so each tenant stands in that line once.
    async fn take(&self, tenant: &Tenant) -> Result<[OwnedSemaphorePermit; 2], Failure> {
        let closed = |_| Failure::internal("no more requests are read");
        let own = self.of(tenant).acquire_owned().await.map_err(closed)?;
        let all = Arc::clone(&self.all)
            .acquire_owned()
            .await
            .map_err(closed)?;
        Ok([own, all])
    }
}

/// What a request asks for. A large payload is not kept while the operation is at work.
pub(super) async fn read<O: Operation + Send + 'static>(
    cx: &Context,
    event: Event,
) -> Result<O, Failure> {
    if event.len() < LARGE_BYTES {
        return O::parse(event.text()?);
    }
    Box::pin(read_apart(cx, event)).await
}

async fn read_apart<O: Operation + Send + 'static>(
    cx: &Context,
    event: Event,
) -> Result<O, Failure> {
    let places = tokio::select! {
        biased;
        () = cx.cancel().cancelled() => return Err(cancelled()),
        places = PLACES.take(&cx.caller().tenant) => places?,
    };
    let reading = tokio::task::spawn_blocking(move || {
        let _places = places;
        O::parse(event.text()?)
    });
    let read = reading.await;
    read.map_err(|error| Failure::internal(format!("reading a request ended: {error}")))?
}
