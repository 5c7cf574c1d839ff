//! Whether the database has said that a page is damaged. It is one for the process, as the
//! database is: errors know of nothing they could say it to.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

use crate::telemetry::measure;

static DAMAGED: AtomicBool = AtomicBool::new(false);
static FOUND: Notify = Notify::const_new();

/// Takes note of a damaged page, which ends readiness until the service is started again.
pub(super) fn note() {
    measure::damaged();
    DAMAGED.store(true, Ordering::Release);
    FOUND.notify_one();
}

pub(super) fn is_known() -> bool {
    DAMAGED.load(Ordering::Acquire)
}

/// Returns once a damaged page was read.
pub(super) async fn found() {
    FOUND.notified().await;
}
