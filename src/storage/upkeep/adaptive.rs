//! Indexes that nobody declared: what searches would have gained by one is counted, what pays is
//! made, and what no search uses any more is dropped (`help/topics/indexes.md`).
//!
//! What is weighed is entities looked at. A path has to have cost as many of them in vain as would
//! pay for filling its index, beyond what the writes of the model would cost to maintain it. All
//! counts fade, so what counts is how often something is asked for, not how long ago that began.
//! They live in memory and are bounded; what is decided goes through the committer, so that it
//! does not matter who decides it.

use std::time::Duration;

use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};
use uuid::Uuid;

use crate::entity::Document;
use crate::id::EntityId;
use crate::storage::{
    Error, Snapshot, Storage,
    memory::missed::{Candidate, Sampled, Sought, Wish},
    port::{Definitions, Index, IndexState, ModelRow, Probe, Upkeep, UsedIndexes},
};
use crate::telemetry::measure::Adaptive;

/// What filling an index costs for each entity of the model, likewise.
const FILL_COST: f64 = 4.0;

/// How much of a model searches may find by an index that is worth having.
const SHARE_MAX: f64 = 0.25;

/// How many entities it may lead to: searches use none that leads to more.
const FOUND_MAX: f64 = 100_000.0;

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

    /// Whether it is of use to report the indexes that searches miss.
    pub fn hears_wishes(&self) -> bool {
        self.storage.0.missed.used() == UsedIndexes::Adaptive
    }

    /// Notes what a search read without a match, and which indexes would have avoided that: each
    /// wish alone would have.
    pub fn wished(&self, definitions: &Definitions, in_vain: usize, wishes: Vec<Wish>) {
        #[expect(clippy::cast_precision_loss, reason = "a weight")]
        let in_vain = in_vain as f64;
        let wanted = &self.storage.0.missed;
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
    let unused = storage.0.missed.settings.unused;
    let pause = (unused / 8).clamp(LOOK_MIN, LOOK_MAX);
    loop {
        let done = match look_after(&storage).await {
            Ok(()) => consider(&storage).await,
            failed => failed,
        };
        match done {
            Ok(()) => tokio::select! {
                () = storage.0.missed.grown.notified() => {}
                () = sleep(pause) => {}
            },
            Err(Error::Stopped) => return,
            Err(error) => {
                warn!(
                    error = &error as &dyn std::error::Error,
                    "adaptive indexes could not be maintained; trying again"
                );
                sleep(PAUSE).await;
            }
        }
    }
}

/// Drops what no search uses, and writes down when the others were used.
async fn look_after(storage: &Storage) -> Result<(), Error> {
    let settings = storage.0.missed.settings;
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
async fn consider(storage: &Storage) -> Result<(), Error> {
    let wishes = &storage.0.missed;
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
            .add_index(model, &path, storage.0.missed.settings.per_model_max)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entity::{Key, KeyRange, Path};

    fn path(text: &str) -> Path {
        Path::parse(text).expect("a path")
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
