//! What all tenants share: time, timers, and what has to be awaited.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use tokio::{
    sync::{Notify, mpsc, oneshot},
    time::Instant,
};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{
    Settings,
    spec::{End, Reported},
    used::Used,
};
use crate::clock::Clock;
use crate::error::{Code, Failure};
use crate::id::Tenant;

/// What all tenants share.
#[derive(Debug)]
pub(super) struct Desk {
    pub(super) clock: Clock,
    /// How long a worker has a task without a sign of life.
    pub(super) lease: Duration,
    /// How many bytes of waiting tasks are kept in memory for each tenant.
    pub(super) waiting_bytes_max: usize,
    timers: BTreeMap<Timer, (Tenant, Arc<str>)>,
    jobs: mpsc::UnboundedSender<Job>,
    earlier: Arc<Notify>,
    next: u64,
    /// The process stops: what is out or due is left to who continues the runs.
    pub(super) stop: CancellationToken,
}

/// When a timer is due, and its number.
pub(super) type Timer = (Instant, u64);

/// What has to be awaited.
#[derive(Debug)]
pub(super) enum Job {
    /// Report the end of a task.
    Report {
        tenant: Tenant,
        task: Arc<str>,
        end: End,
        /// The caller that asked for it; without one it is repeated until it succeeds.
        asked: Option<oneshot::Sender<Result<Reported, Failure>>>,
    },
    /// Store what a task has used up.
    Keep {
        tenant: Tenant,
        task: Arc<str>,
        used: Used,
        /// Dropped when that is done.
        stored: DropGuard,
    },
    /// Load a task of which only the id was kept.
    Load { tenant: Tenant, task: Arc<str> },
    /// Report an answer that came after the end of its task; it is not repeated.
    Late {
        tenant: Tenant,
        task: Arc<str>,
        end: End,
    },
    /// Say that the worker has left that had a task which nobody here wants any more.
    Left { tenant: Tenant, task: Arc<str> },
    /// Discard what was written with the token of a delivery.
    Discard {
        tenant: Tenant,
        task: Arc<str>,
        attempt: u32,
    },
}

impl Job {
    /// Says to who asked for it that it was not begun.
    pub(super) fn refuse(self) {
        if let Self::Report {
            asked: Some(asked), ..
        } = self
        {
            let message = "the server is stopping, and nothing was recorded; repeat the request";
            // The caller may be gone.
            let _ = asked.send(Err(Failure::new(Code::StorageUnavailable, message)));
        }
    }
}

impl Desk {
    pub(super) fn new(
        clock: Clock,
        settings: Settings,
        jobs: mpsc::UnboundedSender<Job>,
        earlier: Arc<Notify>,
    ) -> Self {
        Self {
            clock,
            lease: settings.lease,
            waiting_bytes_max: settings.waiting_bytes_max,
            timers: BTreeMap::new(),
            jobs,
            earlier,
            next: 0,
            stop: CancellationToken::new(),
        }
    }

    pub(super) const fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    pub(super) fn job(&self, job: Job) {
        // The driver is gone only when the process stops.
        if let Err(unsent) = self.jobs.send(job) {
            unsent.0.refuse();
        }
    }

    /// Sets a timer for a task.
    pub(super) fn set(&mut self, at: Instant, tenant: Tenant, task: Arc<str>) -> Timer {
        let timer = (at, self.number());
        self.timers.insert(timer, (tenant, task));
        if self.due() == Some(at) {
            self.earlier.notify_one();
        }
        timer
    }

    pub(super) fn unset(&mut self, timer: Timer) {
        self.timers.remove(&timer);
    }

    /// When the next timer is due.
    pub(super) fn due(&self) -> Option<Instant> {
        self.timers.first_key_value().map(|((at, _), _)| *at)
    }

    /// A timer that is due.
    pub(super) fn take_due(&mut self, now: Instant) -> Option<(Tenant, Arc<str>)> {
        let first = self.timers.first_entry()?;
        (first.key().0 <= now).then(|| first.remove())
    }
}
