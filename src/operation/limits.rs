//! The limits of each tenant: requests per second, requests in flight, stored bytes.
//!
//! [`admit`] is a step of dispatch, before any work is begun. Tenants are counted separately, so
//! one at its limits does not affect another.
//!
//! * A request is in flight until its answer has ended, the last event of a streamed one. What is
//!   answered without an end, a feed or a live search, is in flight for as long as it is followed,
//!   and a worker that waits for tasks as long as it waits. These take half of the places at most,
//!   so that there are some for what ends.
//! * A worker reports about its tasks without a place: refused, finished work would be done again.
//! * A request that joins an open transaction, as members do while they are called, is let in
//!   always: refused, it would keep the request that waits for it from ending, and that one has
//!   its place. It counts for the rate of others.
//! * A member's stream is not a request, nor are the calls that are made to it; those have a limit
//!   of their own (`INTERLOCK_MAX_CALLS_OUT`). Neither are timers, and searches that run on their
//!   own once they are submitted.
//! * Of writes, those that only delete are done however much is stored.

use std::{collections::HashMap, num::NonZeroU32, sync::Arc, time::Duration};

use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter, clock::Clock as _};
use parking_lot::{Mutex, MutexGuard};
use tokio_util::sync::CancellationToken;

use super::{Context, Flight, Route};
use crate::error::{Code, Failure};
use crate::id::Tenant;
use crate::telemetry::measure::Limited;

/// When a place may be free again; nobody knows.
const PLACE_AFTER: Duration = Duration::from_secs(1);

/// The shortest wait that is asked for.
const SHORTEST: Duration = Duration::from_millis(1);

/// When something may have been deleted, or the limit raised.
const BYTES_AFTER: Duration = Duration::from_mins(1);

/// How often tenants are forgotten that have asked for nothing lately.
const UPKEEP: Duration = Duration::from_mins(1);

/// What a tenant may have; none for any number.
#[derive(Debug, Clone, Copy, Default)]
pub struct Limits {
    /// On average; as many may come at once after a second of silence.
    pub requests_per_second: Option<NonZeroU32>,
    pub in_flight: Option<usize>,
    pub stored_bytes: Option<u64>,
}

/// What tenants have at the moment; cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Tenants(Option<Arc<Inner>>);

#[derive(Debug)]
struct Inner {
    limits: Limits,
    rates: Option<DefaultKeyedRateLimiter<Tenant>>,
    /// A mutex, not a task: counted up and down once for each request.
    in_flight: Mutex<HashMap<Tenant, InFlight>>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct InFlight {
    all: usize,
    /// Those of them that last while somebody follows or waits.
    waiting: usize,
}

/// The place of a request in flight; dropping it leaves it to another.
#[derive(Debug)]
pub(super) struct RequestSlot {
    tenants: Arc<Inner>,
    tenant: Tenant,
    is_waiting: bool,
}

impl Tenants {
    pub fn new(limits: Limits) -> Self {
        let Limits {
            requests_per_second,
            in_flight,
            stored_bytes,
        } = limits;
        if requests_per_second.is_none() && in_flight.is_none() && stored_bytes.is_none() {
            return Self(None);
        }
        let rate = |most| RateLimiter::keyed(Quota::per_second(most));
        Self(Some(Arc::new(Inner {
            limits,
            rates: requests_per_second.map(rate),
            in_flight: Mutex::default(),
        })))
    }

    /// Forgets those who have asked for nothing lately, again and again: anyone can be a tenant
    /// where callers say who they are.
    pub async fn keep_small(self, stop: CancellationToken) {
        let Some(rates) = self.0.as_ref().and_then(|inner| inner.rates.as_ref()) else {
            return;
        };
        let forget = async {
            loop {
                tokio::time::sleep(UPKEEP).await;
                rates.retain_recent();
                rates.shrink_to_fit();
            }
        };
        stop.run_until_cancelled(forget).await;
    }
}

/// Admits a request, or returns the limit that its tenant has reached. The request holds its place,
/// if places are counted, until that is dropped.
pub(super) fn admit(cx: &Context, route: &Route) -> Result<Option<RequestSlot>, Failure> {
    let Some(tenants) = &cx.tenants().0 else {
        return Ok(None);
    };
    let tenant = &cx.caller().tenant;
    if cx.is_joined() {
        if let Some(rates) = &tenants.rates {
            // Counted; the request proceeds either way.
            let _ = rates.check_key(tenant);
        }
        return Ok(None);
    }
    let place = match route.flight {
        Flight::UntilAnswered => tenants.take_place(tenant, false)?,
        Flight::Waiting => tenants.take_place(tenant, true)?,
        Flight::Ending => None,
    };
    tenants.count(tenant)?;
    Ok(place)
}

/// How many bytes a tenant may store, if that is limited.
pub(super) fn stored_bytes(cx: &Context) -> Option<u64> {
    cx.tenants().0.as_ref()?.limits.stored_bytes
}

/// Whether the tenant of a request that stores something has not reached its limit of bytes, as far
/// as any process has stored them.
pub(super) fn has_room(cx: &Context, route: &Route) -> Result<(), Failure> {
    if route.stores
        && !cx.is_joined()
        && let Some(most) = stored_bytes(cx)
        && cx.storage().stored_bytes(&cx.caller().tenant) >= most
    {
        Limited::StoredBytes.refused();
        let text = format!(
            "the tenant has reached its limit of {most} stored bytes; delete messages, or ask the operator to raise it"
        );
        return Err(exceeded("storedBytes", most, text).retry_after(BYTES_AFTER));
    }
    Ok(())
}

impl Inner {
    /// Counts a request for the rate of its tenant.
    fn count(&self, tenant: &Tenant) -> Result<(), Failure> {
        let (Some(rates), Some(most)) = (&self.rates, self.limits.requests_per_second) else {
            return Ok(());
        };
        rates.check_key(tenant).map_err(|early| {
            Limited::RequestsPerSecond.refused();
            let text = format!(
                "the tenant has reached its limit of {most} requests per second; send fewer"
            );
            exceeded("requestsPerSecond", most.get(), text)
                // A thread that was held up finds that the wait is over.
                .retry_after(early.wait_time_from(rates.clock().now()).max(SHORTEST))
        })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Tenant, InFlight>> {
        self.in_flight.lock()
    }

    fn take_place(
        self: &Arc<Self>,
        tenant: &Tenant,
        is_waiting: bool,
    ) -> Result<Option<RequestSlot>, Failure> {
        let Some(most) = self.limits.in_flight else {
            return Ok(None);
        };
        let mut all = self.lock();
        let now = all.get(tenant).copied().unwrap_or_default();
        if now.all >= most || is_waiting && now.waiting >= most.div_ceil(2) {
            drop(all);
            Limited::InFlight.refused();
            let text = if now.all >= most {
                format!(
                    "the tenant has reached its limit of {most} requests in flight; wait for answers"
                )
            } else {
                format!(
                    "subscriptions and workers that wait for tasks already take half of the tenant's limit of {most} requests in flight; end one"
                )
            };
            return Err(exceeded("inFlight", most, text).retry_after(PLACE_AFTER));
        }
        let taken = InFlight {
            all: now.all + 1,
            waiting: now.waiting + usize::from(is_waiting),
        };
        all.insert(tenant.clone(), taken);
        Ok(Some(RequestSlot {
            tenants: Arc::clone(self),
            tenant: tenant.clone(),
            is_waiting,
        }))
    }
}

impl Drop for RequestSlot {
    fn drop(&mut self) {
        let mut all = self.tenants.lock();
        if let Some(now) = all.get_mut(&self.tenant) {
            now.all -= 1;
            now.waiting -= usize::from(self.is_waiting);
            if now.all == 0 {
                all.remove(&self.tenant);
            }
        }
    }
}

fn exceeded(limit: &str, most: impl Into<serde_json::Value>, text: String) -> Failure {
    Failure::new(Code::TenantLimitExceeded, text)
        .with("limit", limit)
        .with("allowed", most)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tenants(requests_per_second: Option<u32>, in_flight: Option<usize>) -> Arc<Inner> {
        let limits = Limits {
            requests_per_second: requests_per_second.and_then(NonZeroU32::new),
            in_flight,
            stored_bytes: None,
        };
        Tenants::new(limits).0.expect("a limit")
    }

    #[test]
    fn a_place_is_free_again_when_it_is_left_and_nobody_who_is_idle_is_remembered() {
        let (tenants, one, other) = (tenants(None, Some(3)), "one".into(), "other".into());
        let take = |tenant: &Tenant, is_waiting| tenants.take_place(tenant, is_waiting).map(drop);
        let held: Vec<_> = [true, true, false]
            .map(|is_waiting| tenants.take_place(&one, is_waiting).expect("a place"))
            .into();
        let refused = take(&one, false).expect_err("no fourth");
        assert_eq!(refused.code(), Code::TenantLimitExceeded);
        assert_eq!(refused.retry_after_seconds(), Some(1));
        take(&other, false).expect("another has places of its own");
        drop(held);
        take(&one, false).expect("a place");
        assert!(tenants.lock().is_empty());
    }

    #[test]
    fn what_does_not_end_leaves_places_to_what_does() {
        for (most, live) in [(1, 1), (2, 1), (4, 2), (5, 3)] {
            let tenants = tenants(None, Some(most));
            let one = "one".into();
            let held: Vec<_> = (0..live)
                .map(|_| tenants.take_place(&one, true).expect("a place"))
                .collect();
            tenants.take_place(&one, true).expect_err("no further one");
            assert_eq!(tenants.take_place(&one, false).is_ok(), live < most);
            drop(held);
        }
    }

    #[test]
    fn a_second_has_so_many_requests_and_says_when_there_are_more() {
        let (tenants, one, other) = (tenants(Some(2), None), "one".into(), "other".into());
        for _ in 0..2 {
            tenants.count(&one).expect("within the rate");
        }
        let refused = tenants.count(&one).expect_err("too many");
        assert_eq!(refused.retry_after_seconds(), Some(1));
        tenants
            .count(&other)
            .expect("another has a rate of its own");
    }

    #[test]
    fn without_a_limit_nothing_is_counted() {
        assert!(Tenants::new(Limits::default()).0.is_none());
    }
}
