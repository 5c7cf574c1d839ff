//! Statistics of missed indexes: how much searches read without a match because one was missing.

use std::collections::{BTreeMap, HashMap};

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;

use crate::clock::Timestamp;
use crate::entity::{Document, Key, KeyRange, Path};
use crate::id::StateName;
use crate::storage::port::{IndexSettings, ModelRow, UsedIndexes};

/// Something that an index would have found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sought {
    /// A value of the path lies in one of the ranges.
    Keys { path: Path, ranges: Vec<KeyRange> },
    /// The entity is in that state.
    State(StateName),
}

/// What would have served a search: indexes by all of these paths, to find any of what is sought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wish {
    /// Those there is no index for.
    pub paths: Vec<Path>,
    pub sought: Vec<Sought>,
}

/// A document, and the state it is in.
pub(in crate::storage) type Sampled = (Document, StateName);

impl Sought {
    pub(in crate::storage) fn finds(&self, (document, state): &Sampled) -> bool {
        match self {
            Self::State(sought) => sought == state,
            Self::Keys { path, ranges } => Key::of(path, document.root())
                .iter()
                .any(|key| ranges.iter().any(|range| range.holds(key))),
        }
    }
}

/// After which time half of a count is forgotten, in microseconds: ten minutes.
const HALF_LIFE: f64 = 600e6;

/// What a write costs where there is one index more, in entities looked at.
const WRITE_COST: f64 = 16.0;

/// How many wishes are counted. Beyond, the one that was not heard of for longest is forgotten.
const WISHES_MAX: usize = 1_024;

/// How many searches that had a wish are kept as examples, the latest.
const EXAMPLES: usize = 4;

/// A count of which half is forgotten in every half-life.
#[derive(Debug, Clone, Copy, Default)]
struct Fading {
    amount: f64,
    as_of: i64,
}

impl Fading {
    fn at(self, now: Timestamp) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "a weight")]
        let passed = now.micros().saturating_sub(self.as_of).max(0) as f64;
        self.amount * (-passed / HALF_LIFE).exp2()
    }

    fn add(&mut self, amount: f64, now: Timestamp) {
        self.amount = self.at(now) + amount;
        self.as_of = now.micros();
    }
}

/// What is known of a wish.
#[derive(Debug)]
struct Wanted {
    /// Entities that were read without a match because it was missing.
    in_vain: Fading,
    /// How much of that is worth a look.
    enough: f64,
    examples: Vec<Vec<Sought>>,
    last: Timestamp,
}

pub(in crate::storage) type MissedPaths = (ModelRow, Vec<Path>);

#[derive(Debug, Default)]
struct State {
    wanted: HashMap<MissedPaths, Wanted>,
    /// Of models that something is wanted of.
    writes: HashMap<ModelRow, Fading>,
}

/// What searches have wished for.
///
/// A mutex, not a task: searches that read much without a match add to it, and each batch of writes
/// does while there is a wish; it is held for a few look-ups.
#[derive(Debug)]
pub(in crate::storage) struct MissedIndexes {
    pub(in crate::storage) settings: IndexSettings,
    state: Mutex<State>,
    /// Whether one of them may be worth an index.
    pub(in crate::storage) grown: Notify,
}

/// A wish that has become worth a look.
#[derive(Debug)]
pub(in crate::storage) struct Candidate {
    pub(in crate::storage) place: MissedPaths,
    /// In vain, less what writes weigh.
    pub(in crate::storage) weight: f64,
    pub(in crate::storage) examples: Vec<Vec<Sought>>,
}

impl MissedIndexes {
    pub(in crate::storage) fn new(settings: IndexSettings) -> Self {
        Self {
            settings,
            state: Mutex::default(),
            grown: Notify::new(),
        }
    }

    pub(in crate::storage) const fn used(&self) -> UsedIndexes {
        self.settings.used
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    pub(in crate::storage) fn add(
        &self,
        model: ModelRow,
        in_vain: f64,
        wishes: Vec<Wish>,
        now: Timestamp,
    ) {
        let mut state = self.lock();
        let mut is_enough = false;
        for wish in wishes {
            let place = (model, wish.paths);
            state.make_room_for(&place);
            let wanted = state.wanted.entry(place).or_insert_with(|| Wanted {
                in_vain: Fading::default(),
                enough: f64::from(self.settings.visits),
                examples: Vec::new(),
                last: now,
            });
            wanted.in_vain.add(in_vain, now);
            wanted.last = now;
            is_enough |= wanted.in_vain.amount >= wanted.enough;
            if wanted.examples.len() == EXAMPLES {
                wanted.examples.remove(0);
            }
            wanted.examples.push(wish.sought);
        }
        state.writes.entry(model).or_default();
        drop(state);
        if is_enough {
            self.grown.notify_one();
        }
    }

    /// Counts what a batch writes: the model of each version.
    pub(in crate::storage) fn wrote(&self, models: impl Iterator<Item = ModelRow>, now: Timestamp) {
        let mut state = self.lock();
        if state.writes.is_empty() {
            return;
        }
        for model in models {
            if let Some(writes) = state.writes.get_mut(&model) {
                writes.add(1.0, now);
            }
        }
    }

    /// The wishes that may be worth an index, by model.
    pub(in crate::storage) fn candidates(
        &self,
        now: Timestamp,
    ) -> BTreeMap<ModelRow, Vec<Candidate>> {
        let state = self.lock();
        let mut found: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (place, wanted) in &state.wanted {
            let writes = state.writes.get(&place.0).copied().unwrap_or_default();
            let weight = WRITE_COST.mul_add(-writes.at(now), wanted.in_vain.at(now));
            if weight >= wanted.enough {
                found.entry(place.0).or_default().push(Candidate {
                    place: place.clone(),
                    weight,
                    examples: wanted.examples.clone(),
                });
            }
        }
        found
    }

    /// Has a wish wait until it weighs more.
    pub(in crate::storage) fn raise(&self, place: &MissedPaths, enough: f64) {
        if let Some(wanted) = self.lock().wanted.get_mut(place) {
            wanted.enough = enough;
        }
    }

    /// Forgets what was missed: counting begins again.
    pub(in crate::storage) fn forget(&self, place: &MissedPaths) {
        let mut state = self.lock();
        state.wanted.remove(place);
        state.let_go(place.0);
    }
}

impl State {
    fn make_room_for(&mut self, place: &MissedPaths) {
        if self.wanted.len() < WISHES_MAX || self.wanted.contains_key(place) {
            return;
        }
        let oldest = self.wanted.iter().min_by_key(|(_, wanted)| wanted.last);
        if let Some(oldest) = oldest.map(|(place, _)| place.clone()) {
            self.wanted.remove(&oldest);
            self.let_go(oldest.0);
        }
    }

    /// Counts no more writes of a model that nothing is wanted of.
    fn let_go(&mut self, model: ModelRow) {
        if !self.wanted.keys().any(|(of, _)| *of == model) {
            self.writes.remove(&model);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> Path {
        Path::parse(text).expect("a path")
    }

    fn wish(name: &str) -> Wish {
        Wish {
            paths: vec![path(name)],
            sought: Vec::new(),
        }
    }

    fn wishes() -> MissedIndexes {
        MissedIndexes::new(IndexSettings {
            visits: 1_000,
            ..IndexSettings::default()
        })
    }

    fn minutes(count: i64) -> Timestamp {
        Timestamp::from_micros(count * 60_000_000)
    }

    fn written(model: i64, count: usize) -> impl Iterator<Item = ModelRow> {
        std::iter::repeat_n(ModelRow(model), count)
    }

    fn due(wishes: &MissedIndexes, now: Timestamp) -> Vec<(i64, String)> {
        let mut due: Vec<_> = wishes
            .candidates(now)
            .into_values()
            .flatten()
            .map(|candidate| (candidate.place.0.0, candidate.place.1[0].to_string()))
            .collect();
        due.sort();
        due
    }

    #[test]
    fn a_path_is_worth_a_look_once_it_was_asked_for_often_enough_in_a_while() {
        let wishes = wishes();
        let a = || vec![wish("$.a")];
        wishes.add(ModelRow(1), 600.0, a(), minutes(0));
        assert_eq!(due(&wishes, minutes(0)), []);
        // Half of it is forgotten.
        wishes.add(ModelRow(1), 600.0, a(), minutes(10));
        assert_eq!(due(&wishes, minutes(10)), []);
        wishes.add(ModelRow(1), 600.0, a(), minutes(10));
        assert_eq!(due(&wishes, minutes(10)), [(1, "$.a".to_owned())]);
        assert_eq!(due(&wishes, minutes(60)), []);
        // Models and paths are counted apart.
        wishes.add(ModelRow(2), 700.0, a(), minutes(60));
        wishes.add(ModelRow(2), 700.0, vec![wish("$.b")], minutes(60));
        assert_eq!(due(&wishes, minutes(60)), []);
        wishes.add(ModelRow(2), 2_000.0, vec![wish("$.b")], minutes(60));
        assert_eq!(due(&wishes, minutes(60)), [(2, "$.b".to_owned())]);
        let place = (ModelRow(2), vec![path("$.b")]);
        wishes.raise(&place, 1e6);
        assert_eq!(due(&wishes, minutes(60)), []);
        wishes.forget(&place);
        assert_eq!(due(&wishes, minutes(60)), []);
    }

    #[test]
    fn a_model_that_is_written_more_than_searched_gets_none() {
        let wishes = wishes();
        let now = minutes(0);
        wishes.wrote(written(1, 500), now);
        wishes.add(ModelRow(1), 5_000.0, vec![wish("$.a")], now);
        assert_eq!(due(&wishes, now).len(), 1, "writes before do not count");
        wishes.wrote(written(1, 300), now);
        wishes.wrote(written(2, 9_000), now);
        assert_eq!(due(&wishes, now), []);
        wishes.add(ModelRow(1), 5_000.0, vec![wish("$.a")], now);
        assert_eq!(due(&wishes, now).len(), 1);
    }

    #[test]
    fn what_is_counted_is_bounded_and_what_was_asked_for_last_is_kept() {
        let wishes = wishes();
        for n in 0..WISHES_MAX + 100 {
            let now = minutes(i64::try_from(n).expect("small"));
            let model = ModelRow(i64::try_from(n % 3).expect("small"));
            wishes.add(
                model,
                1.0,
                vec![wish(&format!("$.p{n}")), wish("$.often")],
                now,
            );
        }
        let state = wishes.lock();
        assert_eq!(state.wanted.len(), WISHES_MAX);
        assert!(state.writes.len() <= 3);
        for model in 0..3 {
            assert!(
                state
                    .wanted
                    .contains_key(&(ModelRow(model), vec![path("$.often")]))
            );
        }
    }
}
