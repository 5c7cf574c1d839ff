//! Whether the service can do its work.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use futures_util::{FutureExt as _, future::BoxFuture};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::rest;
use crate::storage::Storage;

/// How often the database and the threads that serve are probed.
const PROBE_INTERVAL: Duration = Duration::from_millis(500);

/// After how long without a sign of the threads that serve the service is not ready.
const SIGN_AGE_MAX: Duration = Duration::from_secs(10);

/// Whether the service is ready, without waiting, and the task that keeps that up to date. The
/// threads that serve give their signs until `stop`.
pub(super) async fn readiness(
    storage: Storage,
    stop: CancellationToken,
) -> (rest::Readiness, BoxFuture<'static, ()>) {
    let sign = Arc::new(watch::Sender::new(Instant::now()));
    let signed = Arc::clone(&sign);
    tokio::spawn(stop.run_until_cancelled_owned(async move {
        loop {
            tokio::time::sleep(PROBE_INTERVAL).await;
            signed.send_replace(Instant::now());
        }
    }));
    let answers = Arc::new(AtomicBool::new(storage.is_ready().await));
    let (probed, probing) = (Arc::clone(&answers), storage.clone());
    let probe = async move {
        loop {
            tokio::time::sleep(PROBE_INTERVAL).await;
            probed.store(probing.is_ready().await, Ordering::Release);
        }
    };
    let is_ready = move || {
        let is_served = sign.borrow().elapsed() < SIGN_AGE_MAX;
        is_served && storage.is_well() && answers.load(Ordering::Acquire)
    };
    (Arc::new(is_ready), probe.boxed())
}
