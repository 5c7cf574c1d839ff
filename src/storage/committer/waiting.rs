//! Units that wait to be committed: tenants take turns, by bytes.
//!
//! Each round gives every tenant that waits the right to as many bytes (deficit round robin), so
//! that one who writes large documents leaves the others their part. Units of one tenant stay in
//! the order they came. A large unit is a batch of its own: beside it others would wait for the
//! disk as long as it does.

use std::collections::VecDeque;

use foldhash::{HashMap, HashMapExt as _};

use crate::id::Tenant;
use crate::storage::submission::Submission;

/// How many units a batch holds at most.
const BATCH_UNITS: usize = 512;

/// How many bytes a batch holds at most, unless one unit alone is larger.
const BATCH_BYTES: usize = 8 << 20;

/// From how many bytes on a unit is a batch of its own.
const ALONE_BYTES: usize = 1 << 20;

/// How many bytes a tenant may write in one round.
const ROUND_BYTES: usize = 256 << 10;

/// What a unit counts for at least: validating it takes its time, too.
const UNIT_BYTES: usize = 512;

/// What a unit counts for at most, so that its turn comes whatever it says of itself: it cannot
/// hold more.
const UNIT_BYTES_MAX: usize = 64 << 20;

/// How many units may be taken out of the queue before they are committed.
const UNITS_MAX: usize = 4_096;

#[derive(Debug, Default)]
pub(super) struct Waiting {
    /// Of each tenant that waits.
    lanes: HashMap<Tenant, Lane>,
    /// Whose turn it is, the next one first.
    turns: VecDeque<Tenant>,
    units: usize,
}

#[derive(Debug, Default)]
struct Lane {
    units: VecDeque<Submission>,
    /// How many bytes it may still write.
    credit: usize,
}

impl Waiting {
    pub(super) const fn is_empty(&self) -> bool {
        self.units == 0
    }

    pub(super) const fn len(&self) -> usize {
        self.units
    }

    pub(super) const fn has_room(&self) -> bool {
        self.units < UNITS_MAX
    }

    pub(super) fn push(&mut self, submission: Submission) {
        self.units += 1;
        if let Some(lane) = self.lanes.get_mut(&submission.draft.tenant) {
            return lane.units.push_back(submission);
        }
        let tenant = submission.draft.tenant.clone();
        self.turns.push_back(tenant.clone());
        let lane = Lane {
            units: VecDeque::from([submission]),
            credit: ROUND_BYTES,
        };
        self.lanes.insert(tenant, lane);
    }

    /// All of them, to be refused.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = Submission> {
        self.units = 0;
        self.turns.clear();
        let lanes = std::mem::replace(&mut self.lanes, HashMap::new());
        lanes.into_values().flat_map(|lane| lane.units)
    }

    /// The next batch, empty if nothing waits; a change of a model is one of its own.
    pub(super) fn batch(&mut self) -> Vec<Submission> {
        let mut batch = Vec::new();
        let mut bytes = 0;
        while let Some(tenant) = self.turns.front() {
            let Some(lane) = self.lanes.get_mut(tenant) else {
                self.turns.pop_front();
                continue;
            };
            let is_full = lane.give(&mut batch, &mut bytes);
            if lane.units.is_empty() {
                self.lanes.remove(tenant);
                self.turns.pop_front();
            } else if !is_full {
                lane.credit += ROUND_BYTES;
                self.turns.rotate_left(1);
            }
            if is_full {
                break;
            }
        }
        self.units -= batch.len();
        batch
    }
}

impl Lane {
    /// Adds to a batch what the tenant may write in this round; true if nothing more fits.
    fn give(&mut self, batch: &mut Vec<Submission>, bytes: &mut usize) -> bool {
        while let Some(next) = self.units.front() {
            let size = next.bytes.min(UNIT_BYTES_MAX);
            let cost = size.max(UNIT_BYTES);
            if cost > self.credit {
                return false;
            }
            let is_alone = next.draft.model.is_some() || size >= ALONE_BYTES;
            if !batch.is_empty() && (is_alone || *bytes + size > BATCH_BYTES) {
                return true;
            }
            self.credit -= cost;
            *bytes += size;
            batch.extend(self.units.pop_front());
            if is_alone || batch.len() == BATCH_UNITS {
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;

    use super::*;
    use crate::entity::{Actor, ActorKind};
    use crate::id::TransactionId;
    use crate::storage::{
        draft::{Attribution, Draft},
        submission::Claim,
    };

    fn unit(tenant: &str, bytes: usize) -> Submission {
        let attribution = Attribution {
            author: Actor {
                kind: ActorKind::User,
                name: "someone".into(),
            },
            executor: None,
        };
        let draft = Draft::new(TransactionId::fresh(), tenant.into(), attribution);
        Submission {
            draft: Box::new(draft),
            bytes,
            claim: Claim::default(),
            reply: oneshot::channel().0,
        }
    }

    fn waiting(units: &[(&str, usize)]) -> Waiting {
        let mut waiting = Waiting::default();
        for (tenant, bytes) in units {
            waiting.push(unit(tenant, *bytes));
        }
        waiting
    }

    /// The sizes of all batches, in their order.
    fn batches(mut waiting: Waiting) -> Vec<Vec<usize>> {
        let mut all = Vec::new();
        while !waiting.is_empty() {
            let batch = waiting.batch();
            assert!(!batch.is_empty() && batch.len() <= BATCH_UNITS);
            all.push(batch.iter().map(|unit| unit.bytes).collect());
        }
        all
    }

    #[test]
    fn what_fits_is_one_batch_in_the_order_it_came() {
        let units = [("a", 1), ("a", 2), ("a", 3)];
        assert_eq!(batches(waiting(&units)), [[1, 2, 3]]);
        assert_eq!(batches(Waiting::default()), Vec::<Vec<usize>>::new());
        let many = vec![("a", 1); BATCH_UNITS + 1];
        let lengths: Vec<_> = batches(waiting(&many)).iter().map(Vec::len).collect();
        assert_eq!(lengths, [BATCH_UNITS, 1]);
    }

    #[test]
    fn a_large_unit_is_a_batch_of_its_own_and_small_ones_do_not_wait_for_several() {
        let large = 8 << 20;
        let units = [
            ("a", large),
            ("a", large),
            ("a", large),
            ("b", 1),
            ("b", 2),
            ("c", 3),
        ];
        let batches = batches(waiting(&units));
        assert_eq!(
            batches,
            [vec![1, 2, 3], vec![large], vec![large], vec![large]]
        );
    }

    #[test]
    fn the_turn_of_a_unit_comes_whatever_it_says_of_its_size() {
        let batches = batches(waiting(&[("a", usize::MAX), ("b", 1)]));
        assert_eq!(batches, [vec![1], vec![usize::MAX]]);
    }

    #[test]
    fn tenants_take_turns_by_bytes() {
        let size = 200 << 10;
        let mut units = vec![("a", size); 100];
        units.extend(vec![("b", size + 1); 3]);
        let batches = batches(waiting(&units));
        let before = batches[0].iter().rposition(|bytes| *bytes == size + 1);
        assert!(before.is_some_and(|place| place < 8), "{batches:?}");
        assert!(
            batches
                .iter()
                .all(|batch| batch.iter().sum::<usize>() <= BATCH_BYTES)
        );
    }

    #[test]
    fn what_is_drained_is_all_of_it() {
        let mut waiting = waiting(&[("a", 1), ("b", 2)]);
        assert_eq!((waiting.len(), waiting.drain().count()), (2, 2));
        assert!(waiting.is_empty() && waiting.batch().is_empty());
    }
}
