//! What tasks have used up of their retries and of their time to wait. It is stored when a delivery
//! fails and while a task waits for long, so that neither a restart nor another process begins
//! again.

use std::{sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{
    Channels,
    desk::{Desk, Job},
    ends::LOST_PAUSE_MAX,
    held::{Held, Phase},
    pool::{LOAD_AGAIN, Pool, YEAR},
};
use crate::backoff::nth;
use crate::clock::Timestamp;
use crate::id::Tenant;

/// In how many parts a task waits: what a restart can repeat is one of them.
const PARTS: u32 = 4;

/// What a task has used up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Used {
    /// How many deliveries were made and have failed.
    pub attempt: u32,
    /// How many of them do not count as retries: they ended in a conflict, their writes were lost,
    /// or their member had not begun.
    #[serde(skip_serializing_if = "is_zero")]
    pub conflicts: u32,
    /// Of how many of those the writes were lost.
    #[serde(skip_serializing_if = "is_zero")]
    pub lost: u32,
    /// How many of those a member that was about to leave had not begun.
    #[serde(skip_serializing_if = "is_zero")]
    pub declined: u32,
    /// How long it has waited for a taker, in milliseconds.
    #[serde(skip_serializing_if = "is_zero")]
    pub waited: u64,
    /// When the pause before the next delivery ends, in microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_before: Option<i64>,
}

fn is_zero<N: Default + PartialEq>(number: &N) -> bool {
    *number == N::default()
}

impl Used {
    /// How much is left of the pause before the next delivery, of which the first was so long. More
    /// than the pause is left only if the clock was ahead.
    pub(super) fn pause(&self, now: Timestamp, first: Duration) -> Option<Duration> {
        let until = Timestamp::from_micros(self.not_before?);
        let longest = nth(first, YEAR, self.attempt).max(LOST_PAUSE_MAX);
        (until > now).then(|| until.since(now).min(longest))
    }

    pub(super) const fn waited(&self) -> Duration {
        Duration::from_millis(self.waited)
    }
}

/// That what a task has used up is being stored.
#[derive(Debug)]
pub(super) struct Keeping {
    /// Whether it has changed meanwhile.
    is_old: bool,
    /// Cancelled once it is stored, or will not be.
    stored: CancellationToken,
}

impl Held {
    fn used(&self) -> Used {
        Used {
            attempt: self.attempt,
            conflicts: self.conflicts,
            lost: self.lost,
            declined: self.declined,
            waited: u64::try_from(self.waited.as_millis()).unwrap_or(u64::MAX),
            not_before: None,
        }
    }

    pub(super) fn wait_begins(&mut self) {
        self.waits_since = Some(Instant::now());
    }

    pub(super) fn wait_ends(&mut self) {
        if let Some(since) = self.waits_since.take() {
            self.waited += since.elapsed();
        }
    }

    /// How long it waits until somebody looks for a taker again, or the wait is over.
    pub(super) fn next_look(&self) -> Duration {
        let rest = self.wait.saturating_sub(self.waited);
        rest.min((self.wait / PARTS).max(LOAD_AGAIN)).min(YEAR)
    }
}

impl Pool {
    /// Has what a task has used up stored.
    pub(super) fn keep(&mut self, desk: &Desk, id: &Arc<str>, not_before: Option<Timestamp>) {
        let tenant = self.tenant();
        let Some(held) = self.tasks.get_mut(id) else {
            return;
        };
        held.kept = Used {
            not_before: not_before.map(Timestamp::micros),
            ..held.used()
        };
        if let Some(keeping) = &mut held.keeping {
            keeping.is_old = true;
            return;
        }
        let stored = CancellationToken::new();
        held.keeping = Some(Keeping {
            is_old: false,
            stored: stored.clone(),
        });
        desk.job(Job::Keep {
            tenant,
            task: Arc::clone(id),
            used: held.kept,
            stored: stored.drop_guard(),
        });
    }

    /// Is cancelled when what a task has used up is stored; none if it is.
    pub(super) fn when_kept(&self, id: &str) -> Option<CancellationToken> {
        let keeping = self.tasks.get(id)?.keeping.as_ref()?;
        Some(keeping.stored.clone())
    }

    /// A task has a taker: from now on its wait is a new one.
    pub(super) fn wait_again(&mut self, desk: &Desk, id: &Arc<str>) {
        let Some(held) = self.tasks.get_mut(id) else {
            return;
        };
        held.waited = Duration::ZERO;
        if held.kept.waited > 0 {
            self.keep(desk, id, None);
        }
    }

    /// Lets a task wait on that waits already.
    pub(super) fn wait_on(&mut self, desk: &mut Desk, id: &Arc<str>, has_taker: bool) {
        let Some(held) = self.tasks.get_mut(id) else {
            return;
        };
        held.wait_begins();
        let look = held.next_look();
        // A taker that is busy is not looked for again at once.
        let look = if has_taker {
            look.max(LOAD_AGAIN)
        } else {
            look
        };
        self.set_timer(desk, id, Some(Instant::now() + look));
    }

    /// What a task has used up was stored, or could not be; what is to be stored next.
    fn kept(&mut self, id: &str) -> Option<Used> {
        let held = self.tasks.get_mut(id)?;
        if let Some(keeping) = held.keeping.as_mut().filter(|keeping| keeping.is_old) {
            keeping.is_old = false;
            return Some(held.kept);
        }
        held.keeping = None;
        None
    }
}

impl Channels {
    /// What a task has used up that waits here; nothing if no channel holds it.
    pub fn used(&self, tenant: &Tenant, task: &str) -> Used {
        let state = self.lock();
        let held = state
            .pools
            .get(tenant)
            .and_then(|pool| pool.tasks.get(task));
        held.map(Held::used).unwrap_or_default()
    }

    pub(super) fn kept(&self, tenant: &Tenant, task: &str) -> Option<Used> {
        self.with(tenant, |pool, _| pool.kept(task))
    }

    /// Whether what a task has used up is being stored.
    pub(super) fn is_keeping(&self, tenant: &Tenant, task: &str) -> bool {
        let state = self.lock();
        let held = state
            .pools
            .get(tenant)
            .and_then(|pool| pool.tasks.get(task));
        held.is_some_and(|held| held.keeping.is_some())
    }
}

/// Whether a task is not with a worker, and is going to be delivered.
pub(super) const fn is_to_be_delivered(phase: &Phase) -> bool {
    match phase {
        Phase::Waiting | Phase::Paused | Phase::Loading => true,
        Phase::Out(_) | Phase::Reporting(_) => false,
    }
}
