//! A writer that is as slow and as unreliable as a test wants it.
#![cfg(test)]

use std::sync::{Arc, mpsc};

use futures_util::{FutureExt as _, future::BoxFuture};

use crate::storage::port::{Cause, Failure, Syncing};

/// When a writer may be disturbed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    BeforeWrite,
    AfterWrite,
    Syncing,
    Reopening,
}

/// What happens at a moment: it may take its time, never end, or answer that the disk failed.
#[derive(Clone)]
pub(crate) struct Disturbance(Arc<dyn Fn(Moment) -> BoxFuture<'static, bool> + Send + Sync>);

impl Disturbance {
    pub(crate) fn new(
        at: impl Fn(Moment) -> BoxFuture<'static, bool> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(at))
    }
}

impl std::fmt::Debug for Disturbance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Disturbance")
    }
}

/// Comes through a moment, or fails at it.
pub(in crate::storage) async fn pass(
    disturbance: Option<Disturbance>,
    moment: Moment,
) -> Result<(), Failure> {
    match disturbance {
        Some(Disturbance(at)) if !at(moment).await => Err(Failure::new(
            Cause::Other,
            format!("the simulated disk failed: {moment:?}"),
        )),
        Some(_) | None => Ok(()),
    }
}

/// What was written comes through the moments after that.
pub(in crate::storage) async fn disturb(
    disturbance: Option<Disturbance>,
    syncing: Syncing,
) -> Result<Syncing, Failure> {
    pass(disturbance.clone(), Moment::AfterWrite).await?;
    let passed = pass(disturbance, Moment::Syncing);
    Ok(async move {
        syncing.await?;
        passed.await
    }
    .boxed())
}

/// Keeps the time of a paused runtime from going on by itself.
pub(in crate::storage) struct Still(
    #[expect(dead_code, reason = "dropping it is what counts")] mpsc::Sender<()>,
);

pub(in crate::storage) fn still() -> Still {
    let (end, ended) = mpsc::channel();
    // A runtime does not advance its time while it waits for one of these.
    tokio::task::spawn_blocking(move || ended.recv());
    Still(end)
}
