//! What keeps the keys of providers: the one task that asks them.
//!
//! A provider is asked when it is registered, when it is told to be, when its keys have become
//! old, and when a token names a key that is not known. The last is in the hands of strangers, so
//! it is rationed; that their requests end does not end the asking.

use std::{collections::HashMap, sync::Arc, time::Duration};

use futures_util::{FutureExt as _, StreamExt as _, future::BoxFuture, stream::FuturesUnordered};
use tokio::{
    sync::{mpsc, oneshot, watch},
    time::{Instant, sleep_until},
};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::{
    All, Federation, Place, Unfetched,
    document::{Discovery, PublishedKey},
    fetch::Fetcher,
    provider::Held,
};
use crate::id::ProviderId;

/// How long keys are not asked for again, unless there is a reason to.
const FRESH_FOR: Duration = Duration::from_mins(5);

/// How soon a provider is asked again that has not answered; twice as long after each failure
/// more, and no longer than keys are fresh.
const AGAIN_AFTER: Duration = Duration::from_secs(10);

/// How long the keys of a provider count that does not answer.
const KEPT_FOR: Duration = Duration::from_hours(1);

/// How many are asked at once for whom nobody waits: fewer than can be, so that those who wait
/// need not wait for these.
const UNASKED_AT_ONCE: usize = 4;

/// How many may wait for one.
const WAITING_MAX: usize = 1_000;

/// How often strangers may have a provider asked at once, and how long it takes until they may
/// once more.
const RATION: u32 = 5;
const RATION_GROWS_AFTER: Duration = Duration::from_secs(10);

/// Why a provider is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Why {
    /// Someone who may says so.
    Reload,
    /// A token names this key, which is not known.
    UnknownKey(Box<str>),
}

/// A request to ask a provider.
#[derive(Debug)]
pub(super) struct Ask {
    pub(super) held: Arc<Held>,
    pub(super) why: Why,
    /// Told how many keys can be used, or dropped if it is not going to be asked.
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
}

/// A provider that was asked, when, and what it answered.
struct Answered {
    held: Arc<Held>,
    begun: Instant,
    outcome: Result<(Discovery, Vec<PublishedKey>), Unfetched>,
}

/// What is kept of an active provider.
struct Kept {
    held: Arc<Held>,
    /// When it is asked again; none while it is being asked.
    due: Option<Instant>,
    /// How often it has not answered since it last did.
    failures: u32,
    ration: Ration,
    waiting: Vec<Waiting>,
}

/// Someone who waits for an answer.
struct Waiting {
    why: Why,
    answered: Answers,
    /// Whether the provider was already being asked: what it says may be older than the wish.
    is_late: bool,
}

/// How often strangers may still have a provider asked.
#[derive(Debug, PartialEq, Eq)]
struct Ration {
    left: u32,
    /// When it was last whole, or grew.
    since: Instant,
}

impl Ration {
    const fn new(now: Instant) -> Self {
        Self {
            left: RATION,
            since: now,
        }
    }

    /// Whether there is one left, which is then gone.
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

/// How long is waited after so many failures in a row.
fn again_after(failures: u32) -> Duration {
    let doubled = 2_u32.saturating_pow(failures.saturating_sub(1));
    AGAIN_AFTER.saturating_mul(doubled).min(FRESH_FOR)
}

impl Keeper {
    pub(super) fn new(federation: Federation, asked: mpsc::Receiver<Ask>) -> Self {
        let mut all = federation.0.all.subscribe();
        // What there is already is looked at first.
        all.mark_changed();
        Self {
            federation,
            asked,
            all,
            kept: HashMap::new(),
            asking: FuturesUnordered::new(),
        }
    }

    /// Works until the service stops.
    pub(super) async fn run(mut self, stop: CancellationToken) {
        loop {
            let has_room = self.asking.len() < UNASKED_AT_ONCE;
            let next = self.kept.values().filter_map(|kept| kept.due).min();
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

    /// Finds out which providers there are.
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
        // What has just been put may be asked for before it was looked at.
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
            if kept.waiting.is_empty() {
                if room == 0 {
                    continue;
                }
                room -= 1;
            }
            kept.due = None;
            let held = Arc::clone(&kept.held);
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
        let Some(kept) = self.kept.get_mut(&provider.id) else {
            return;
        };
        if !Arc::ptr_eq(&kept.held, &held) {
            // It has changed meanwhile; what waits, waits on.
            kept.due = Some(now);
            return;
        }
        let told = match outcome {
            Ok((discovery, keys)) => {
                let count = keys.len();
                held.answered((discovery.issuer, keys), begun, now);
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
                warn!(provider.id = %provider.id, %error, "an OIDC provider could not be asked for its keys");
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
                // Who has gone need not be told.
                let _ = waiting.answered.send(told.clone());
            }
        }
    }
}

impl Kept {
    /// One that has not been asked is asked at once.
    fn new(held: Arc<Held>, now: Instant) -> Self {
        Self {
            held,
            due: Some(now),
            failures: 0,
            ration: Ration::new(now),
            waiting: Vec::new(),
        }
    }

    /// Whether someone who came while the provider was being asked wants it to be asked once more.
    fn asks_again(&mut self, waiting: &Waiting, now: Instant) -> bool {
        waiting.is_late
            && match &waiting.why {
                Why::Reload => true,
                Why::UnknownKey(name) => self.held.key(name).is_none() && self.ration.take(now),
            }
    }
}

/// What a provider publishes: the document first, which says where the keys are.
async fn fetch(
    fetcher: &Fetcher,
    well_known: &str,
) -> Result<(Discovery, Vec<PublishedKey>), Unfetched> {
    let place = Place::parse(well_known, fetcher.rules()).map_err(|error| Unfetched::Unusable {
        what: "the place of the discovery document",
        reason: error.to_string(),
    })?;
    let document = fetcher.get(&place).await?;
    let discovery = Discovery::parse(&document, fetcher.rules())?;
    let keys = fetcher.get(&discovery.keys).await?;
    Ok((discovery, PublishedKey::parse_set(&keys)?))
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
        // It does not grow beyond what it was.
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
