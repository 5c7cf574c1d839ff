//! Limits the bytes of unanswered requests in memory.
//!
//! All requests together have a budget, and one tenant half of it. A request counts with the bytes
//! received, not with those announced, until it is answered. One that finds no room waits a little,
//! which its client notices as slow reading, and is then rejected. The last eighth is reserved for
//! small requests, and a single request is admitted whatever its size.

use std::{
    collections::HashMap,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use parking_lot::RwLock;
use tokio::{sync::Notify, time::timeout_at};
use tracing::warn;

use crate::error::{Code, Failure};
use crate::id::Tenant;
use crate::shares::SMALL_BYTES;
use crate::telemetry::{LimitedLines, measure::Closed};

/// How long a request waits for room.
const PATIENCE: Duration = Duration::from_secs(2);

/// When there may be room again.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// How many tenants are remembered before those without a request are forgotten.
const TENANTS: usize = 1_024;

/// The budget of all requests; cheap to clone.
#[derive(Debug, Clone)]
pub struct Receiving(Arc<Budget>);

#[derive(Debug)]
struct Budget {
    of: Counted,
    most: usize,
    used: AtomicUsize,
    /// A lock, not a task: a look-up for each request, or for each stream of them.
    tenants: RwLock<HashMap<Tenant, Arc<AtomicUsize>>>,
    freed: Notify,
    /// How many wait for [`Self::freed`]: a request that nobody waits for wakes nobody.
    waiting: AtomicUsize,
    lines: LimitedLines,
}

/// What one request holds; dropping it gives that back.
#[derive(Debug)]
pub struct Hold {
    budget: Arc<Budget>,
    of_tenant: Arc<AtomicUsize>,
    bytes: AtomicUsize,
}

/// Counts as waiting for room until it is dropped.
struct Waiting<'a>(&'a Budget);

/// What a budget counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Counted {
    Requests,
    Answers,
}

/// Whose room is used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Full {
    Server,
    Tenant,
}

impl Receiving {
    /// A budget of so many bytes.
    pub fn new(most: usize) -> Self {
        Self::of(Counted::Requests, most)
    }

    /// One for answers.
    pub(super) fn of_answers(most: usize) -> Self {
        Self::of(Counted::Answers, most)
    }

    fn of(of: Counted, most: usize) -> Self {
        Self(Arc::new(Budget {
            of,
            most,
            used: AtomicUsize::new(0),
            tenants: RwLock::default(),
            freed: Notify::new(),
            waiting: AtomicUsize::new(0),
            lines: LimitedLines::default(),
        }))
    }

    /// A request of a tenant, which holds nothing yet.
    pub fn hold(&self, tenant: &Tenant) -> Hold {
        Hold {
            budget: Arc::clone(&self.0),
            of_tenant: self.0.of_tenant(tenant),
            bytes: AtomicUsize::new(0),
        }
    }
}

impl Budget {
    /// The bytes that a tenant's requests hold.
    fn of_tenant(&self, tenant: &Tenant) -> Arc<AtomicUsize> {
        let tenants = self.tenants.read();
        if let Some(used) = tenants.get(tenant) {
            return Arc::clone(used);
        }
        drop(tenants);
        let mut tenants = self.tenants.write();
        if tenants.len() >= TENANTS && !tenants.contains_key(tenant) {
            tenants.retain(|_, used| Arc::strong_count(used) > 1);
        }
        Arc::clone(tenants.entry(tenant.clone()).or_default())
    }

    /// Has those look again that wait for room, once there is less used.
    fn wake(&self) {
        // In one order with what is used: who was refused is counted here.
        if self.waiting.load(Ordering::SeqCst) > 0 {
            self.freed.notify_waiters();
        }
    }
}

impl Hold {
    /// Another request of the same tenant.
    #[must_use]
    pub fn another(&self) -> Self {
        Self {
            budget: Arc::clone(&self.budget),
            of_tenant: Arc::clone(&self.of_tenant),
            bytes: AtomicUsize::new(0),
        }
    }

    /// Whether a stream of this tenant should read on: where not even half is left, it waits for
    /// [`Self::freed_unless`].
    pub fn has_room(&self) -> bool {
        let most = self.budget.most;
        self.budget.used.load(Ordering::SeqCst) <= most / 2
            && self.of_tenant.load(Ordering::SeqCst) <= most / 4
    }

    /// Returns when some request has given its bytes back, or at once where `is_enough` holds.
    pub async fn freed_unless(&self, is_enough: impl Fn() -> bool) {
        let _waiting = Waiting::new(&self.budget);
        let freed = self.budget.freed.notified();
        tokio::pin!(freed);
        freed.as_mut().enable();
        if !is_enough() {
            freed.await;
        }
    }

    /// Holds so many bytes in all, if there is room now; false if there is not.
    pub fn holds_now(&self, bytes: usize) -> bool {
        self.resize(bytes).is_ok()
    }

    /// Holds so many bytes in all, if there is room now; otherwise it is refused with the reason.
    pub fn try_hold(&self, bytes: usize) -> Result<(), Failure> {
        self.resize(bytes).map_err(|full| self.refusal(full))
    }

    /// Holds so many bytes in all, and waits a little for room. Only one of a request's parts may
    /// call this at a time.
    pub async fn hold(&self, bytes: usize) -> Result<(), Failure> {
        self.hold_within(PATIENCE, bytes).await
    }

    /// Holds so many bytes in all, and waits for room that long.
    pub(super) async fn hold_within(
        &self,
        patience: Duration,
        bytes: usize,
    ) -> Result<(), Failure> {
        // The rule: nobody is asked and no clock is read.
        if self.resize(bytes).is_ok() {
            return Ok(());
        }
        let _waiting = Waiting::new(&self.budget);
        let deadline = tokio::time::Instant::now() + patience;
        loop {
            let freed = self.budget.freed.notified();
            tokio::pin!(freed);
            freed.as_mut().enable();
            let Err(full) = self.resize(bytes) else {
                return Ok(());
            };
            if timeout_at(deadline, freed).await.is_err() {
                return Err(self.refusal(full));
            }
        }
    }

    fn resize(&self, bytes: usize) -> Result<(), Full> {
        let now = self.bytes.load(Ordering::Relaxed);
        let Some(more) = bytes.checked_sub(now) else {
            self.give_back(now - bytes);
            return Ok(());
        };
        let most = self.budget.most;
        let cap = |most: usize| {
            if bytes > SMALL_BYTES {
                most - most / 8
            } else {
                most
            }
        };
        let (tenant, server) = (&self.of_tenant, &self.budget.used);
        let of_tenant = |used| with_more(used, more, now, cap(most / 2));
        let of_server = |used| with_more(used, more, now, cap(most));
        // What is added to the tenant's and taken off again refuses others of the tenant meanwhile,
        // so the server's room is looked at first.
        let order = Ordering::SeqCst;
        if of_tenant(tenant.load(order)).is_some() && of_server(server.load(order)).is_none() {
            return Err(Full::Server);
        }
        let taken = tenant.fetch_update(order, order, of_tenant);
        taken.map_err(|_| Full::Tenant)?;
        if server.fetch_update(order, order, of_server).is_err() {
            // Others took that room meanwhile.
            tenant.fetch_sub(more, order);
            self.budget.wake();
            return Err(Full::Server);
        }
        self.bytes.fetch_add(more, Ordering::Relaxed);
        Ok(())
    }

    fn give_back(&self, bytes: usize) {
        if bytes > 0 {
            self.bytes.fetch_sub(bytes, Ordering::Relaxed);
            self.of_tenant.fetch_sub(bytes, Ordering::SeqCst);
            self.budget.used.fetch_sub(bytes, Ordering::SeqCst);
            self.budget.wake();
        }
    }

    /// Holds so many bytes in all, whether there is room or not.
    pub(super) fn hold_anyway(&self, bytes: usize) {
        let more = bytes.saturating_sub(self.bytes.load(Ordering::Relaxed));
        self.of_tenant.fetch_add(more, Ordering::SeqCst);
        self.budget.used.fetch_add(more, Ordering::SeqCst);
        self.bytes.fetch_add(more, Ordering::Relaxed);
    }

    fn refusal(&self, full: Full) -> Failure {
        Closed::count(Closed::NoRoom);
        let Budget {
            of, most, lines, ..
        } = &*self.budget;
        if let Some(skipped) = lines.next() {
            warn!(
                limit = most,
                skipped,
                "requests are rejected: the bytes of {of} have reached INTERLOCK_RECEIVING_BYTES, or those of one tenant half of it"
            );
        }
        let text = match (full, of) {
            (Full::Server, _) => format!(
                "the bytes of {of} have reached the server's limit (INTERLOCK_RECEIVING_BYTES: {most}); retry later"
            ),
            (Full::Tenant, Counted::Requests) => format!(
                "the bytes of the tenant's {of} have reached half of the server's limit (INTERLOCK_RECEIVING_BYTES: {most}); send fewer or smaller ones at once"
            ),
            (Full::Tenant, Counted::Answers) => format!(
                "the bytes of the tenant's {of} have reached half of the server's limit (INTERLOCK_RECEIVING_BYTES: {most}); read answers before sending more requests"
            ),
        };
        Failure::new(Code::TooManyRequests, text).retry_after(RETRY_AFTER)
    }
}

impl fmt::Display for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Requests => "unanswered requests",
            Self::Answers => "unread answers",
        })
    }
}

impl<'a> Waiting<'a> {
    fn new(budget: &'a Budget) -> Self {
        budget.waiting.fetch_add(1, Ordering::SeqCst);
        Self(budget)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.give_back(self.bytes.load(Ordering::Relaxed));
    }
}

/// What is used with so many bytes more; none if that is over a cap, unless nobody else uses
/// anything.
fn with_more(used: usize, more: usize, own: usize, cap: usize) -> Option<usize> {
    (used + more <= cap || used <= own).then_some(used + more)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: usize = 1 << 20;

    #[test]
    fn a_tenant_has_half_and_small_requests_the_last_eighth() {
        let receiving = Receiving::new(16 * MB);
        let (one, other) = ("one".into(), "other".into());
        let first = receiving.hold(&one);
        first.try_hold(6 * MB).expect("room");
        let second = first.another();
        let refused = second
            .try_hold(2 * MB)
            .expect_err("over seven eighths of half");
        assert_eq!(refused.code(), Code::TooManyRequests);
        second.try_hold(SMALL_BYTES).expect("small");
        let third = receiving.hold(&other);
        third.try_hold(7 * MB).expect("room of another tenant");
        drop((first, second, third));
        assert_eq!(receiving.0.used.load(Ordering::Relaxed), 0);
        let alone = receiving.hold(&one);
        alone.try_hold(100 * MB).expect("whatever its size");
        alone.try_hold(MB).expect("less");
        assert_eq!(receiving.0.used.load(Ordering::Relaxed), MB);
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_waits_for_room_and_is_refused_where_there_is_none() {
        let receiving = Receiving::new(8 * MB);
        let one = "one".into();
        let first = receiving.hold(&one);
        first.try_hold(3 * MB).expect("room");
        let second = receiving.hold(&one);
        second.hold(2 * MB).await.expect_err("no room");
        let (waited, ()) = tokio::join!(second.hold(2 * MB), async {
            tokio::time::sleep(PATIENCE / 2).await;
            drop(first);
        });
        waited.expect("room");
    }
}
