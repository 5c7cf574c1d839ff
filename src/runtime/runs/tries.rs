//! Tries of what arrives for a run: those of one run one after the other, each again after a
//! conflict.

use std::{sync::Arc, time::Duration};

use tokio::time::{sleep, timeout};

use crate::error::{Code, Failure};
use crate::id::Tenant;
use crate::random::mixed;
use crate::runtime::{Runtime, Turn, machines::Acted};

/// How often an arrival is tried again that met a conflict. A step that conflicts fails before.
const AGAIN_MAX: u32 = 20;

/// How long an arrival waits for its turn. Then it is tried all the same: turns spare conflicts,
/// but what decides is the comparison at the commit.
const PATIENCE: Duration = Duration::from_secs(5);

/// The shortest pause after the first conflict, in microseconds; after the next it is twice as long.
const PAUSE_MICROS: u64 = 1_000;

/// How often it doubles.
const DOUBLINGS_MAX: u32 = 8;

/// One try. Its session holds the turn until it ends, or waits for a member.
#[derive(Debug)]
pub struct Try {
    pub(in crate::runtime) turn: Option<Turn>,
    /// How many tries before it met a conflict.
    pub(in crate::runtime) conflicts: u32,
    /// What actions of state machines have done in tries before.
    pub(in crate::runtime) acted: Option<Arc<Acted>>,
}

impl Try {
    /// The first, of work that is not in a line.
    pub const FIRST: Self = Self {
        turn: None,
        conflicts: 0,
        acted: None,
    };
}

/// The tries of one arrival.
#[derive(Debug)]
pub struct Tries<'t> {
    runtime: &'t Runtime,
    tenant: &'t Tenant,
    run: &'t str,
    conflicts: u32,
    acted: Arc<Acted>,
}

impl Runtime {
    /// The tries of what has arrived for the run of that identifier.
    pub fn tries<'t>(&'t self, tenant: &'t Tenant, run: &'t str) -> Tries<'t> {
        Tries {
            runtime: self,
            tenant,
            run,
            conflicts: 0,
            acted: Arc::default(),
        }
    }
}

impl Tries<'_> {
    /// Waits for the turn of the next try.
    pub async fn begin(&self) -> Try {
        let turn = self.runtime.0.lines.turn((self.tenant, self.run));
        Try {
            turn: timeout(PATIENCE, turn).await.ok(),
            conflicts: self.conflicts,
            acted: Some(Arc::clone(&self.acted)),
        }
    }

    /// Whether it is tried again after a failure. If it is, a pause has passed.
    pub async fn again_after(&mut self, failure: &Failure) -> bool {
        if failure.code() != Code::Conflict || self.conflicts == AGAIN_MAX {
            return false;
        }
        self.conflicts += 1;
        sleep(pause(self.conflicts, self.chance())).await;
        true
    }

    /// A number that differs from run to run, so that those that met part.
    fn chance(&self) -> u64 {
        let seed = self.runtime.0.clock.now().micros().unsigned_abs();
        let bytes = self.run.bytes();
        bytes.fold(mixed(seed), |seed, byte| mixed(seed ^ u64::from(byte)))
    }
}

/// The pause after so many conflicts: what has doubled, and up to as much again by chance.
fn pause(conflicts: u32, chance: u64) -> Duration {
    let half = PAUSE_MICROS << conflicts.saturating_sub(1).min(DOUBLINGS_MAX);
    Duration::from_micros(half + chance % half)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::ManualClock;
    use crate::runtime::{RunSettings, testing::runtime_with};

    #[test]
    fn pauses_grow_to_a_bound_and_differ() {
        let between = |conflicts, from: u64, to: u64| {
            assert_eq!(pause(conflicts, 0), Duration::from_millis(from));
            let longest = pause(conflicts, u64::MAX - 1);
            assert!(longest > Duration::from_millis(from), "{longest:?}");
            assert!(longest < Duration::from_millis(to), "{longest:?}");
        };
        between(1, 1, 2);
        between(2, 2, 4);
        between(6, 32, 64);
        between(AGAIN_MAX, 256, 512);
    }

    #[tokio::test]
    async fn arrivals_of_one_run_wait_for_each_other_but_not_for_ever() {
        let runtime = runtime_with(&ManualClock::default(), RunSettings::DEFAULT).await;
        tokio::time::pause();
        let tenant: Tenant = "one".into();
        let tries = runtime.tries(&tenant, "wfrun-1");
        let first = tries.begin().await;
        assert!(first.turn.is_some());
        let other = runtime.tries(&tenant, "wfrun-2").begin().await;
        assert!(other.turn.is_some(), "another run");
        let (second, ()) = tokio::join!(tries.begin(), async {
            sleep(Duration::from_secs(1)).await;
            drop(first);
        });
        assert!(second.turn.is_some(), "it came to its turn");
        let third = tries.begin().await;
        assert!(third.turn.is_none(), "it has waited long enough");
    }

    #[tokio::test]
    async fn only_conflicts_are_tried_again_and_not_for_ever() {
        let runtime = runtime_with(&ManualClock::default(), RunSettings::DEFAULT).await;
        tokio::time::pause();
        let tenant: Tenant = "one".into();
        let mut tries = runtime.tries(&tenant, "wfrun-1");
        let other = Failure::new(Code::RunNotFound, "there is no run");
        assert!(!tries.again_after(&other).await);
        let conflict = Failure::new(Code::Conflict, "transaction conflict");
        for conflicts in 1..=AGAIN_MAX {
            assert!(tries.again_after(&conflict).await);
            assert_eq!(tries.begin().await.conflicts, conflicts);
        }
        assert!(!tries.again_after(&conflict).await);
    }
}
