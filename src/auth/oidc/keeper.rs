//! Keeps the keys of providers: the only task that fetches them.
//!
//! Keys are fetched when a provider is registered, on request, when they are old, and when a token
//! names an unknown key. The last can be caused by anybody, so it is rationed; it continues even if
//! the request that caused it ends.

use std::{collections::HashMap, sync::Arc, time::Duration};

use futures_util::{FutureExt as _, StreamExt as _, future::BoxFuture, stream::FuturesUnordered};
use tokio::{
    sync::{mpsc, oneshot, watch},
    time::{Instant, sleep_until},
};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::{
    All, Federation, ProviderUrl, Unfetched,
    document::{Discovery, PublishedKey},
    fetch::Fetcher,
    provider::Held,
};
use crate::backoff::nth;
use crate::id::{ProviderId, Tenant};

/// How long keys are not fetched again without a reason.
const FRESH_FOR: Duration = Duration::from_mins(5);

/// The delay before a provider that failed is contacted again; it doubles with each failure, up to
/// the above.
const AGAIN_AFTER: Duration = Duration::from_secs(10);

/// How long the keys of a provider that fails stay valid.
const KEPT_FOR: Duration = Duration::from_hours(1);

/// How many are contacted at once without a request that waits: fewer than possible, so that
/// waiting requests are not delayed.
const UNASKED_AT_ONCE: usize = 4;

/// How many of one tenant are contacted at once: slow ones delay nobody else's.
const OF_ONE_AT_ONCE: usize = 2;

/// How many requests may wait for one provider.
const WAITING_MAX: usize = 1_000;

/// How often unknown keys may cause a fetch in a row, and the time until one more is allowed.
const RATION: u32 = 5;
const RATION_GROWS_AFTER: Duration = Duration::from_secs(10);

/// The reason of a fetch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Why {
    /// An administrator requests it.
    Reload,
    /// A token names this unknown key.
    UnknownKey(Box<str>),
}

/// A request to fetch.
#[derive(Debug)]
pub(super) struct Ask {
    pub(super) held: Arc<Held>,
    pub(super) why: Why,
    /// Receives the number of usable keys, or is dropped if nothing is fetched.
    pub(super) answered: Answers,
}

pub(super) type Answers = oneshot::Sender<Result<usize, Unfetched>>;

/// Keeps the keys of all providers.
pub(super) struct Keeper {
    federation: Federation,
    asked: mpsc::Receiver<Ask>,
    all: watch::Receiver<All>,
    kept: HashMap<ProviderId, Kept>,
    asking: FuturesUnordered<BoxFuture<'static, Answered>>,
    /// How many providers of each tenant are being contacted, if any.
    asked_of: HashMap<Tenant, usize>,
}

/// The result of a fetch, and when it began.
struct Answered {
    held: Arc<Held>,
    begun: Instant,
    outcome: Result<Published, Unfetched>,
}

/// What a provider publishes.
struct Published {
    issuer: Box<str>,
    keys: Vec<PublishedKey>,
    /// How many other keys it publishes.
    unusable: usize,
}

/// The state of an active provider.
struct Kept {
    held: Arc<Held>,
    /// When it is contacted next; none while it is.
    due: Option<Instant>,
    /// Failures in a row.
    failures: u32,
    /// How many of its keys cannot be used.
    unusable: usize,
    ration: Ration,
    waiting: Vec<Waiting>,
}

/// A request that waits for a result.
struct Waiting {
    why: Why,
    answered: Answers,
    /// Whether the fetch was already running: its result may be older than the request.
    is_late: bool,
}

/// How many fetches unknown keys may still cause.
#[derive(Debug, PartialEq, Eq)]
struct Ration {
    left: u32,
    /// When it was last full, or grew.
    since: Instant,
}

impl Ration {
    const fn new(now: Instant) -> Self {
        Self {
            left: RATION,
            since: now,
        }
    }

    /// Takes one if there is one.
    fn take(&mut self, now: Instant) -> bool {
        while self.left < RATION && self.since + RATION_GROWS_AFTER <= now {
            self.left += 1;
            self.since += RATION_GROWS_AFTER;
        }
        if self.left == RATION {
            self.since = now;
        }
        let is_left = self.left > 0;
        self.left = self.left.saturating_sub(1);
        is_left
    }
}

/// The delay after that many failures in a row.
fn again_after(failures: u32) -> Duration {
    nth(AGAIN_AFTER, FRESH_FOR, failures)
}

impl Keeper {
    pub(super) fn new(federation: Federation, asked: mpsc::Receiver<Ask>) -> Self {
        let mut all = federation.0.all.subscribe();
        // Existing providers are considered first.
        all.mark_changed();
        Self {
            federation,
            asked,
            all,
            kept: HashMap::new(),
            asking: FuturesUnordered::new(),
            asked_of: HashMap::new(),
        }
    }

    /// Runs until the service stops.
    pub(super) async fn run(mut self, stop: CancellationToken) {
        loop {
            let has_room = self.asking.len() < UNASKED_AT_ONCE;
            let kept = self.kept.values();
            let kept = kept.filter(|kept| has_turn(&self.asked_of, kept));
            let next = kept.filter_map(|kept| kept.due).min();
            let next = next.filter(|_| has_room);
            let due = async {
                match next {
                    Some(next) => sleep_until(next).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = stop.cancelled() => return,
                changed = self.all.changed() => match changed {
                    Ok(()) => self.look_over(),
                    Err(_) => return,
                },
                Some(ask) = self.asked.recv() => self.take(ask),
                Some(answered) = self.asking.next() => self.note(answered),
                () = due => {}
            }
            self.ask_those_due();
        }
    }

    /// Updates the list of providers.
    fn look_over(&mut self) {
        let all = Arc::clone(&self.all.borrow_and_update());
        let now = Instant::now();
        let active = || all.iter().filter(|held| held.provider.is_active);
        self.kept
            .retain(|id, _| active().any(|held| held.provider.id == *id));
        for held in active() {
            let kept = self
                .kept
                .entry(held.provider.id)
                .or_insert_with(|| Kept::new(Arc::clone(held), now));
            if !Arc::ptr_eq(&kept.held, held) {
                kept.held = Arc::clone(held);
                kept.due = kept.due.map(|_| now);
            }
        }
    }

    fn take(&mut self, ask: Ask) {
        // A provider may be requested before it is in the list.
        if self.all.has_changed().unwrap_or(false) {
            self.look_over();
        }
        let now = Instant::now();
        let Some(kept) = self.kept.get_mut(&ask.held.provider.id) else {
            return;
        };
        if kept.waiting.len() >= WAITING_MAX {
            return;
        }
        let is_late = kept.due.is_none();
        if is_late || ask.why == Why::Reload || kept.ration.take(now) {
            kept.waiting.push(Waiting {
                why: ask.why,
                answered: ask.answered,
                is_late,
            });
            kept.due = kept.due.map(|_| now);
        }
    }

    fn ask_those_due(&mut self) {
        let now = Instant::now();
        let due = self
            .kept
            .values_mut()
            .filter(|kept| kept.due.is_some_and(|due| due <= now));
        let mut room = UNASKED_AT_ONCE.saturating_sub(self.asking.len());
        for kept in due {
            if !has_turn(&self.asked_of, kept) {
                continue;
            }
            if kept.waiting.is_empty() {
                if room == 0 {
                    continue;
                }
                room -= 1;
            }
            kept.due = None;
            let held = Arc::clone(&kept.held);
            let tenant = held.provider.tenant.clone();
            *self.asked_of.entry(tenant).or_default() += 1;
            let fetcher = self.federation.0.fetcher.clone();
            let asking = async move {
                let outcome = fetch(&fetcher, &held.provider.well_known).await;
                Answered {
                    held,
                    begun: now,
                    outcome,
                }
            };
            self.asking.push(asking.boxed());
        }
    }

    fn note(&mut self, answered: Answered) {
        let Answered {
            held,
            begun,
            outcome,
        } = answered;
        let now = Instant::now();
        let provider = &held.provider;
        if let Some(asked) = self.asked_of.get_mut(&provider.tenant) {
            *asked -= 1;
            if *asked == 0 {
                self.asked_of.remove(&provider.tenant);
            }
        }
        let Some(kept) = self.kept.get_mut(&provider.id) else {
            return;
        };
        if !Arc::ptr_eq(&kept.held, &held) {
            // It was changed meanwhile; waiting requests keep waiting.
            kept.due = Some(now);
            return;
        }
        let outcomes = match outcome {
            Ok(Published {
                issuer,
                keys,
                unusable,
            }) => {
                let count = keys.len();
                kept.note_unusable(unusable, count);
                held.answered((issuer, keys), begun, now);
                self.federation.withdrew();
                if kept.failures > 0 {
                    info!(provider.id = %provider.id, "an OIDC provider answers again");
                }
                kept.failures = 0;
                kept.due = Some(now + FRESH_FOR);
                Ok(count)
            }
            Err(error) => {
                kept.failures = kept.failures.saturating_add(1);
                kept.due = Some(now + again_after(kept.failures));
                warn!(provider.id = %provider.id, %error, "the keys of an OIDC provider could not be fetched");
                held.unanswered(begun);
                let seen_at = held.seen.borrow().at;
                if seen_at.is_some_and(|at| at + KEPT_FOR <= now) {
                    held.forgotten();
                    self.federation.withdrew();
                }
                Err(error)
            }
        };
        for waiting in std::mem::take(&mut kept.waiting) {
            if kept.asks_again(&waiting, now) {
                kept.due = Some(now);
                kept.waiting.push(Waiting {
                    is_late: false,
                    ..waiting
                });
            } else {
                // Requesters that are gone need no answer.
                let _ = waiting.answered.send(outcomes.clone());
            }
        }
    }
}

impl Kept {
    /// A new provider is contacted at once.
    fn new(held: Arc<Held>, now: Instant) -> Self {
        Self {
            held,
            due: Some(now),
            failures: 0,
            unusable: 0,
            ration: Ration::new(now),
            waiting: Vec::new(),
        }
    }

    /// Logs, when it changes, how many of its keys cannot be used: their tokens are rejected.
    fn note_unusable(&mut self, unusable: usize, usable: usize) {
        if unusable != self.unusable && unusable > 0 {
            info!(provider.id = %self.held.provider.id, usable, unusable, "an OIDC provider publishes keys that are not used: only RSA keys with `kid` that verify RS256 are");
        }
        self.unusable = unusable;
    }

    /// Whether a request that arrived during a fetch needs another one.
    fn asks_again(&mut self, waiting: &Waiting, now: Instant) -> bool {
        waiting.is_late
            && match &waiting.why {
                Why::Reload => true,
                Why::UnknownKey(name) => self.held.key(name).is_none() && self.ration.take(now),
            }
    }
}

/// Whether its tenant may have another provider contacted.
fn has_turn(asked_of: &HashMap<Tenant, usize>, kept: &Kept) -> bool {
    let asked = asked_of.get(&kept.held.provider.tenant);
    asked.is_none_or(|asked| *asked < OF_ONE_AT_ONCE)
}

/// Fetches a provider's documents: first the discovery document, which names the address of the
/// keys.
async fn fetch(fetcher: &Fetcher, well_known: &str) -> Result<Published, Unfetched> {
    let place =
        ProviderUrl::parse(well_known, fetcher.rules()).map_err(|error| Unfetched::Unusable {
            what: "the address of the discovery document",
            reason: error.to_string(),
        })?;
    let document = fetcher.get(&place).await?;
    let discovery = Discovery::parse(&document, fetcher.rules())?;
    let keys = fetcher.get(&discovery.keys).await?;
    let (keys, unusable) = PublishedKey::parse_set(&keys)?;
    Ok(Published {
        issuer: discovery.issuer,
        keys,
        unusable,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strangers_have_a_ration_that_grows_again() {
        let begin = Instant::now();
        let mut ration = Ration::new(begin);
        let took =
            |ration: &mut Ration, at: Instant| (0..2 * RATION).filter(|_| ration.take(at)).count();
        assert_eq!(took(&mut ration, begin), 5);
        let almost = begin + RATION_GROWS_AFTER - Duration::from_millis(1);
        assert_eq!(took(&mut ration, almost), 0);
        assert_eq!(took(&mut ration, begin + RATION_GROWS_AFTER), 1);
        assert_eq!(took(&mut ration, begin + 3 * RATION_GROWS_AFTER), 2);
        // It does not grow beyond its initial value.
        assert_eq!(took(&mut ration, begin + 100 * RATION_GROWS_AFTER), 5);
        assert_eq!(took(&mut ration, begin + 100 * RATION_GROWS_AFTER), 0);
        assert_eq!(took(&mut ration, begin + 101 * RATION_GROWS_AFTER), 1);
    }

    #[test]
    fn one_that_does_not_answer_is_asked_less_and_less() {
        let seconds: Vec<_> = (1..8).map(|n| again_after(n).as_secs()).collect();
        assert_eq!(seconds, [10, 20, 40, 80, 160, 300, 300]);
        assert_eq!(again_after(u32::MAX), FRESH_FOR);
    }
}
