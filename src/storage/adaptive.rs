//! Indexes that nobody declared: what searches would have gained by one is counted, what pays is
//! made, and what no search uses any more is dropped (DESIGN decision 6).
//!
//! What is weighed is entities looked at. A path has to have cost as many of them in vain as would
//! pay for filling its index, beyond what the writes of the model would cost to maintain it. All
//! counts fade, so what counts is how often something is asked for, not how long ago that began.
//! They live in memory and are bounded; what is decided goes through the committer, so that it
//! does not matter who decides it.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{sync::Notify, time::sleep};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};
use uuid::Uuid;

use super::{
    Definitions, Error, ModelRow, Snapshot, Storage,
    index::{Index, IndexState, Probe},
    sqlite::Upkeep,
};
use crate::clock::Timestamp;
use crate::entity::{Document, Key, KeyRange, Path};
use crate::id::{EntityId, StateName};
use crate::telemetry::measure::Adaptive;

/// Which indexes there are, and when they come and go.
#[derive(Debug, Clone, Copy)]
pub struct IndexSettings {
    pub used: UsedIndexes,
    /// How many entities are looked at in vain for want of an index, at least, before it is made.
    pub visits: u32,
    /// How many indexes that nobody declared a model has at most.
    pub per_model_max: u32,
    /// After which time one that no search has used is dropped.
    pub unused: Duration,
}

impl Default for IndexSettings {
    fn default() -> Self {
        Self {
            used: UsedIndexes::Adaptive,
            visits: 100_000,
            per_model_max: 8,
            unused: Duration::from_hours(168),
        }
    }
}

/// Which indexes searches use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UsedIndexes {
    /// The declared ones, and others where that pays.
    Adaptive,
    /// The declared ones; others are dropped.
    Declared,
    /// None, though the declared ones are maintained, so that they serve once they may again.
    None,
}

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

/// After which time half of a count is forgotten, in microseconds: ten minutes.
const HALF_LIFE: f64 = 600e6;

/// What a write costs where there is one index more, in entities looked at.
const WRITE_COST: f64 = 16.0;

/// What filling an index costs for each entity of the model, likewise.
const FILL_COST: f64 = 4.0;

/// How much of a model searches may find by an index that is worth having.
const SHARE_MAX: f64 = 0.25;

/// How many entities it may lead to: searches use none that leads to more.
const FOUND_MAX: f64 = 100_000.0;

/// How many wishes are counted. Beyond, the one that was not heard of for longest is forgotten.
const WISHES_MAX: usize = 1_024;

/// How many searches that had a wish are kept as examples, the latest.
const EXAMPLES: usize = 4;

/// How many entities are looked at to learn what examples find: parts from places all over the
/// model.
const SAMPLED_PLACES: u128 = 8;
const SAMPLED_AT_ONCE: i64 = 64;

/// How long to wait after a failure.
const PAUSE: Duration = Duration::from_secs(1);

/// The longest time between two looks at what is unused.
const LOOK_MAX: Duration = Duration::from_hours(1);

/// The shortest one.
const LOOK_MIN: Duration = Duration::from_millis(50);

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
    /// Entities that were looked at in vain for want of it.
    in_vain: Fading,
    /// How much of that is worth a look.
    enough: f64,
    examples: Vec<Vec<Sought>>,
    last: Timestamp,
}

type Place = (ModelRow, Vec<Path>);

#[derive(Debug, Default)]
struct State {
    wanted: HashMap<Place, Wanted>,
    /// Of models that something is wanted of.
    writes: HashMap<ModelRow, Fading>,
}

/// What searches have wished for.
///
/// A mutex, not a task: searches that looked at much in vain add to it, and each batch of writes
/// does while there is a wish; it is held for a few look-ups.
#[derive(Debug)]
pub(super) struct Wishes {
    settings: IndexSettings,
    state: Mutex<State>,
    /// Whether one of them may be worth an index.
    grown: Notify,
}

/// A wish that has become worth a look.
#[derive(Debug)]
struct Candidate {
    place: Place,
    /// In vain, less what writes weigh.
    weight: f64,
    examples: Vec<Vec<Sought>>,
}

impl Wishes {
    pub(super) fn new(settings: IndexSettings) -> Self {
        Self {
            settings,
            state: Mutex::default(),
            grown: Notify::new(),
        }
    }

    pub(super) const fn used(&self) -> UsedIndexes {
        self.settings.used
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, model: ModelRow, in_vain: f64, wishes: Vec<Wish>, now: Timestamp) {
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
    pub(super) fn wrote(&self, models: impl Iterator<Item = ModelRow>, now: Timestamp) {
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
    fn candidates(&self, now: Timestamp) -> BTreeMap<ModelRow, Vec<Candidate>> {
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
    fn raise(&self, place: &Place, enough: f64) {
        if let Some(wanted) = self.lock().wanted.get_mut(place) {
            wanted.enough = enough;
        }
    }

    /// Forgets a wish: it begins anew.
    fn forget(&self, place: &Place) {
        let mut state = self.lock();
        state.wanted.remove(place);
        state.let_go(place.0);
    }
}

impl State {
    fn make_room_for(&mut self, place: &Place) {
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

impl Snapshot {
    /// Notes which indexes a search goes by.
    pub fn goes_by(&self, probes: &[Probe]) {
        let indexes = self.storage.0.indexes.current();
        for probe in probes {
            match probe {
                Probe::Keys(row, _) => indexes.note_used(*row, self.storage.now()),
                Probe::State(_) => {}
            }
        }
    }

    /// Whether it is of use to tell what searches wish for.
    pub fn hears_wishes(&self) -> bool {
        self.storage.0.wishes.used() == UsedIndexes::Adaptive
    }

    /// Notes what a search looked at in vain, and which indexes would have spared it that: each
    /// wish alone would have.
    pub fn wished(&self, definitions: &Definitions, in_vain: usize, wishes: Vec<Wish>) {
        #[expect(clippy::cast_precision_loss, reason = "a weight")]
        let in_vain = in_vain as f64;
        let wanted = &self.storage.0.wishes;
        wanted.add(definitions.row, in_vain, wishes, self.storage.now());
    }
}

impl Storage {
    /// Makes and drops indexes that nobody declared, until `stop` is cancelled.
    pub async fn adapt_indexes(self, stop: CancellationToken) {
        stop.run_until_cancelled(adapt(self)).await;
    }
}

async fn adapt(storage: Storage) {
    let unused = storage.0.wishes.settings.unused;
    let pause = (unused / 8).clamp(LOOK_MIN, LOOK_MAX);
    loop {
        let done = match look_after(&storage).await {
            Ok(()) => heed(&storage).await,
            failed => failed,
        };
        match done {
            Ok(()) => tokio::select! {
                () = storage.0.wishes.grown.notified() => {}
                () = sleep(pause) => {}
            },
            Err(Error::Stopped) => return,
            Err(error) => {
                warn!(
                    error = &error as &dyn std::error::Error,
                    "adaptive indexes could not be looked after; trying again"
                );
                sleep(PAUSE).await;
            }
        }
    }
}

/// Drops what no search uses, and writes down when the others were used.
async fn look_after(storage: &Storage) -> Result<(), Error> {
    let settings = storage.0.wishes.settings;
    let now = storage.now();
    let indexes = storage.0.indexes.current();
    let unused = i64::try_from(settings.unused.as_micros()).unwrap_or(i64::MAX);
    for index in indexes.adaptive() {
        let row = index.row;
        if settings.used != UsedIndexes::Adaptive {
            drop_one(storage, index, "they are switched off").await?;
            continue;
        }
        if index.state != IndexState::Ready {
            continue;
        }
        let used = index.used();
        if now.micros().saturating_sub(used.micros()) > unused {
            drop_one(storage, index, "no search has used it").await?;
        } else if index.is_used_unwritten(unused / 8) {
            storage.keep_up(Upkeep::Used { index: row, used }).await?;
        }
    }
    Ok(())
}

async fn drop_one(storage: &Storage, index: &Index, why: &str) -> Result<(), Error> {
    // Someone may have declared it meanwhile.
    if storage.drop_index(index.row).await? {
        Adaptive::Dropped.count();
        let of = &index.of;
        info!(tenant = %of.tenant, model = %of.model, path = %index.path, why, "an adaptive index is dropped");
    }
    Ok(())
}

/// Makes the indexes that are worth it: one wish of each model at a time, since those that the
/// same searches have may be served by the same index.
async fn heed(storage: &Storage) -> Result<(), Error> {
    let wishes = &storage.0.wishes;
    if wishes.used() != UsedIndexes::Adaptive {
        return Ok(());
    }
    for (model, candidates) in wishes.candidates(storage.now()) {
        let entities = storage.0.database.count(model).await?;
        #[expect(clippy::cast_precision_loss, reason = "a weight")]
        let entities = entities as f64;
        let price = FILL_COST * entities;
        let (worth, not_yet): (Vec<_>, Vec<_>) = candidates
            .into_iter()
            .partition(|candidate| candidate.weight >= price);
        for candidate in not_yet {
            wishes.raise(&candidate.place, price);
        }
        if worth.is_empty() {
            continue;
        }
        let sample = sample(storage, model).await?;
        let mut best: Option<(f64, Candidate)> = None;
        for candidate in worth {
            wishes.forget(&candidate.place);
            let share = share_found(&sample, &candidate.examples);
            debug!(
                share,
                paths = candidate.place.1.len(),
                "an index was wished for"
            );
            let is_better = best.as_ref().is_none_or(|(least, _)| share < *least);
            if share <= SHARE_MAX && share * entities <= FOUND_MAX && is_better {
                best = Some((share, candidate));
            }
        }
        if let Some((_, candidate)) = best {
            make(storage, candidate).await?;
        }
    }
    Ok(())
}

async fn make(storage: &Storage, candidate: Candidate) -> Result<(), Error> {
    let (model, paths) = candidate.place;
    for path in paths {
        if !storage
            .add_index(model, &path, storage.0.wishes.settings.per_model_max)
            .await?
        {
            debug!(%path, "there is an adaptive index already, or the model has enough of them");
            continue;
        }
        let indexes = storage.0.indexes.current();
        if let Some(index) = indexes.of(model).iter().find(|index| index.path == path) {
            Adaptive::Made.count();
            let of = &index.of;
            info!(tenant = %of.tenant, model = %of.model, %path, visited_in_vain = candidate.weight.round(), "an adaptive index is made");
        }
    }
    Ok(())
}

/// A document, and the state it is in.
type Sampled = (Document, StateName);

/// Some entities of a model, from all over it.
async fn sample(storage: &Storage, model: ModelRow) -> Result<Vec<Sampled>, Error> {
    let database = &storage.0.database;
    let mut sample = Vec::new();
    let Some((first, last)) = database.ends(model).await? else {
        return Ok(sample);
    };
    let [from, until] = [first, last].map(|id| id.uuid().as_u128());
    let step = until.saturating_sub(from) / SAMPLED_PLACES;
    let mut reached = None;
    for place in 0..SAMPLED_PLACES {
        let after = (from + step * place).saturating_sub(1);
        let after = EntityId::from_uuid(Uuid::from_u128(after));
        // Where they do not lie evenly, some parts begin within others.
        let after = reached.filter(|reached| *reached > after).unwrap_or(after);
        let part = database
            .to_index(model, Some(after), SAMPLED_AT_ONCE)
            .await?;
        let Some(end) = part.last() else { break };
        reached = Some(end.id);
        sample.extend(part.into_iter().filter_map(|row| {
            let document = Document::from_json(&row.document).ok()?;
            Some((document, row.state))
        }));
    }
    Ok(sample)
}

/// How much of a sample is found by examples, on average.
#[expect(clippy::cast_precision_loss, reason = "a share")]
fn share_found(sample: &[Sampled], examples: &[Vec<Sought>]) -> f64 {
    let asked = sample.len() * examples.len();
    if asked == 0 {
        return 1.0;
    }
    let found = |example: &&Vec<Sought>| {
        let is_found = |entity: &&Sampled| example.iter().any(|sought| sought.finds(entity));
        sample.iter().filter(is_found).count()
    };
    examples
        .iter()
        .map(|example| found(&example))
        .sum::<usize>() as f64
        / asked as f64
}

impl Sought {
    fn finds(&self, (document, state): &Sampled) -> bool {
        match self {
            Self::State(sought) => sought == state,
            Self::Keys { path, ranges } => Key::of(path, document.root())
                .iter()
                .any(|key| ranges.iter().any(|range| range.holds(key))),
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

    fn wishes() -> Wishes {
        Wishes::new(IndexSettings {
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

    fn due(wishes: &Wishes, now: Timestamp) -> Vec<(i64, String)> {
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

    #[test]
    fn what_an_index_would_find_is_learned_from_a_sample() {
        let sample: Vec<_> = (0..100)
            .map(|n| {
                let json = format!(r#"{{"few":{},"many":{}}}"#, n % 50, n % 2);
                let state = if n < 10 { "NEW" } else { "OLD" };
                (Document::parse(&json).expect("JSON"), state.into())
            })
            .collect();
        let keys = |name: &str, number: &str| Sought::Keys {
            path: path(name),
            ranges: vec![KeyRange::only(&Key::number(
                &crate::entity::Number::parse(number).expect("a number"),
            ))],
        };
        let share = |sought: Vec<Sought>| share_found(&sample, &[sought]);
        assert!((share(vec![keys("$.few", "1")]) - 0.02).abs() < 1e-9);
        assert!((share(vec![keys("$.many", "1")]) - 0.5).abs() < 1e-9);
        assert!((share(vec![Sought::State("NEW".into())]) - 0.1).abs() < 1e-9);
        let either = vec![keys("$.few", "49"), Sought::State("NEW".into())];
        assert!((share(either) - 0.12).abs() < 1e-9);
        assert!((share_found(&[], &[vec![]]) - 1.0).abs() < 1e-9);
    }
}
