//! The activity of one connection: how many requests it has open, and since when it has none.

use std::{
    sync::{
        Arc, LazyLock,
        atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering},
    },
    task::Poll,
    time::Duration,
};

use futures_util::{future::poll_fn, task::AtomicWaker};
use tokio::time::Instant;

use super::Times;
use crate::telemetry::measure::Closed;

/// Instants are counted from here, in milliseconds, so that an atomic holds one.
static EPOCH: LazyLock<Instant> = LazyLock::new(Instant::now);

/// What an HTTP/2 client sends before anything else (RFC 9113 §3.4).
const PREFACE: usize = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".len();

/// How many calls of unknown callers a connection may have open: one watches the health of a
/// server, or reads its descriptors, once.
pub(in crate::app) const UNKNOWN_MAX: usize = 8;

/// None, where an instant is expected: the epoch begins at 1.
const NONE: u64 = 0;

/// What precedes a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::app) enum Head {
    /// HTTP/1.1: a head before each request.
    OfEachRequest,
    /// HTTP/2: a preface, once. Later activity is watched by pings and open streams.
    Preface,
}

/// Counted without a lock, because every request is counted.
#[derive(Debug)]
pub(in crate::app) struct Activity {
    head: Head,
    /// How many requests are open, without those of unknown callers.
    open: AtomicUsize,
    /// How many calls of unknown callers are open.
    unknown: AtomicUsize,
    /// Since when no request has been open.
    idle_since: AtomicU64,
    /// Since when a head has been half received, if one is.
    head_since: AtomicU64,
    received: AtomicUsize,
    requests: AtomicU64,
    /// An [`Order`], and the task of the connection, which looks at it whenever it runs. A token
    /// to cancel would be locked each time, and one for all connections by all threads.
    order: AtomicU8,
    task: AtomicWaker,
}

/// What a connection is to do; a later one replaces those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Order {
    Serve,
    /// End with the requests that are open.
    Finish,
    /// End now.
    End,
}

/// A request that is open until this is dropped.
#[derive(Debug)]
pub(in crate::app) struct Open {
    activity: Arc<Activity>,
    is_of_unknown: bool,
}

/// Whether a connection has exceeded a time limit.
#[derive(Debug, Clone, Copy)]
pub(super) enum Due {
    Later,
    Now(Closed),
}

impl Activity {
    pub(super) fn new(head: Head) -> Arc<Self> {
        let now = stamp(Instant::now());
        Arc::new(Self {
            head,
            open: AtomicUsize::new(0),
            unknown: AtomicUsize::new(0),
            idle_since: AtomicU64::new(now),
            head_since: AtomicU64::new(match head {
                Head::OfEachRequest => NONE,
                Head::Preface => now,
            }),
            received: AtomicUsize::new(0),
            requests: AtomicU64::new(0),
            order: AtomicU8::new(Order::Serve as u8),
            task: AtomicWaker::new(),
        })
    }

    /// A request has begun.
    pub(super) fn begin(self: &Arc<Self>) -> Open {
        self.open.fetch_add(1, Ordering::Relaxed);
        self.head_since.store(NONE, Ordering::Relaxed);
        self.requests.fetch_add(1, Ordering::Relaxed);
        Open {
            activity: Arc::clone(self),
            is_of_unknown: false,
        }
    }

    /// A request has ended, or counts no longer.
    fn ended(&self) {
        // Of several that end at once, each may be the last. Who sees that none is open sees the
        // time, too.
        let now = stamp(Instant::now());
        self.idle_since.store(now, Ordering::Relaxed);
        self.open.fetch_sub(1, Ordering::Release);
    }

    /// Bytes have been received.
    pub(super) fn received(&self, bytes: usize) {
        match self.head {
            Head::OfEachRequest => {
                if self.open.load(Ordering::Relaxed) == 0
                    && self.head_since.load(Ordering::Relaxed) == NONE
                {
                    let now = stamp(Instant::now());
                    self.head_since.store(now, Ordering::Relaxed);
                }
            }
            Head::Preface => {
                if self.head_since.load(Ordering::Relaxed) != NONE
                    && self.received.fetch_add(bytes, Ordering::Relaxed) + bytes >= PREFACE
                {
                    self.head_since.store(NONE, Ordering::Relaxed);
                }
            }
        }
    }

    /// Since when the connection has been idle, and whether it has ever sent a request: one that
    /// has not is closed first.
    pub(super) fn idle(&self) -> Option<(bool, u64)> {
        (self.open.load(Ordering::Acquire) == 0).then(|| {
            let has_asked = self.requests.load(Ordering::Relaxed) > 0;
            (has_asked, self.idle_since.load(Ordering::Relaxed))
        })
    }

    pub(super) fn order(&self, order: Order) {
        self.order.fetch_max(order as u8, Ordering::Release);
        self.task.wake();
    }

    /// Waits for an order that goes beyond what is known. Only one task may wait.
    pub(super) async fn ordered(&self, known: Order) -> Order {
        poll_fn(|cx| {
            self.task.register(cx.waker());
            let order = Order::of(self.order.load(Ordering::Acquire));
            if order > known {
                Poll::Ready(order)
            } else {
                Poll::Pending
            }
        })
        .await
    }

    pub(super) fn due(&self, times: &Times, now: Instant) -> Due {
        if self.open.load(Ordering::Acquire) > 0 {
            return Due::Later;
        }
        let since = |stamp: &AtomicU64| match stamp.load(Ordering::Relaxed) {
            NONE => Duration::ZERO,
            then => now.saturating_duration_since(instant(then)),
        };
        if since(&self.head_since) >= times.head {
            Due::Now(Closed::HalfRequest)
        } else if since(&self.idle_since) >= times.idle {
            Due::Now(Closed::Idle)
        } else {
            Due::Later
        }
    }

    /// When to check [`Self::due`] again: a head may begin meanwhile.
    pub(super) fn next_look(&self, times: &Times, now: Instant) -> Instant {
        let mut next = now + times.head.min(times.idle);
        if self.open.load(Ordering::Acquire) == 0 {
            let idle_since = self.idle_since.load(Ordering::Relaxed);
            next = next.min(instant(idle_since) + times.idle);
            let head_since = self.head_since.load(Ordering::Relaxed);
            if head_since != NONE {
                next = next.min(instant(head_since) + times.head);
            }
        }
        // An instant has the precision of a stamp.
        next.max(now + Duration::from_millis(1))
    }
}

impl Order {
    const fn of(number: u8) -> Self {
        match number {
            0 => Self::Serve,
            1 => Self::Finish,
            _ => Self::End,
        }
    }
}

impl Open {
    /// Makes this the call of an unknown caller. Its connection counts as idle while it has no
    /// other request, so that nobody can keep places without a token. False if there are too many.
    pub(in crate::app) fn count_as_unknown(&mut self) -> bool {
        self.is_of_unknown = true;
        let before = self.activity.unknown.fetch_add(1, Ordering::Relaxed);
        self.activity.ended();
        before < UNKNOWN_MAX
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if self.is_of_unknown {
            self.activity.unknown.fetch_sub(1, Ordering::Relaxed);
        } else {
            self.activity.ended();
        }
    }
}

fn stamp(instant: Instant) -> u64 {
    let since = instant.saturating_duration_since(*EPOCH);
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX) + 1
}

fn instant(stamp: u64) -> Instant {
    *EPOCH + Duration::from_millis(stamp.saturating_sub(1))
}
