//! A batch after its validation: on its way to the disk, and what is told of it when it is there.

use std::sync::Arc;

use foldhash::HashSet;
use tokio::sync::watch;

use super::{Survivor, rows::Rows, sweeper::Sweeper};
use crate::clock::Timestamp;
use crate::entity::{Image, Position, Sequence};
use crate::id::{EntityId, RunId, Tenant};
use crate::storage::{
    Storage,
    draft::Draft,
    port::{EntityRow, Failure, ModelRow, RecordKey, Syncing, Version},
    submission::Submission,
};

/// A batch that was validated: its rows, and the units that survived.
pub(super) struct Validated {
    pub(super) rows: Rows,
    pub(super) survivors: Vec<Survivor>,
    /// How large the units are.
    pub(super) bytes: usize,
    /// The first time it was given.
    pub(super) stamped: Timestamp,
    /// The sequence of its last unit.
    pub(super) until: Sequence,
}

/// A batch that was written and may not be durable yet.
pub(super) struct Flight {
    pub(super) validated: Validated,
    written: HashSet<EntityId>,
    runs: HashSet<RunId>,
    /// Records that were changed, and whose they are.
    records: HashSet<(Tenant, RecordKey)>,
    syncing: Syncing,
}

impl Flight {
    pub(super) fn new(validated: Validated, syncing: Syncing) -> Self {
        let drafts = validated.survivors.iter();
        let drafts = drafts.map(|survivor| &survivor.submission.draft);
        let runs = drafts.clone().flat_map(|draft| &draft.runs);
        let runs = runs.map(|write| write.id).collect();
        let written = drafts
            .clone()
            .flat_map(|draft| draft.bases().map(|(id, _)| id));
        let records = drafts.flat_map(|draft| {
            let changed = draft.records.changes.iter();
            changed.map(|change| (draft.tenant.clone(), change.key.clone()))
        });
        Self {
            written: written.collect(),
            runs,
            records: records.collect(),
            validated,
            syncing,
        }
    }

    /// Whether a unit is to be validated by what only becomes known with this. What the database is
    /// asked for anyway, such as who holds a unique key, is known there already.
    pub(super) fn decides(&self, batch: &[Submission]) -> bool {
        !self.validated.rows.grown.is_empty()
            || batch.iter().any(|submission| {
                let draft = &submission.draft;
                let replaced = draft.bases().map(|(id, _)| id);
                let mut seen = replaced.chain(draft.reads.keys().copied());
                seen.any(|id| self.written.contains(&id))
                    || draft.runs.iter().any(|run| self.runs.contains(&run.id))
                    || self.decides_records(draft)
            })
    }

    /// Whether a unit has read a record that this changes.
    fn decides_records(&self, draft: &Draft) -> bool {
        !self.records.is_empty()
            && draft
                .records
                .reads
                .keys()
                .any(|key| self.records.contains(&(draft.tenant.clone(), key.clone())))
    }
}

/// Returns when the batch is on the disk, or is known not to be; never, where there is none. Once
/// it has returned it is not asked again.
pub(super) async fn synced(flight: &mut Option<Flight>) -> Result<(), Failure> {
    match flight {
        Some(flight) => flight.syncing.as_mut().await,
        None => std::future::pending().await,
    }
}

/// Makes a durable batch known: cache, then sequence, then callers (STORAGE.md §3).
pub(super) fn announce(
    validated: Validated,
    storage: &Storage,
    publish: &watch::Sender<Sequence>,
    sweeper: &mut Sweeper,
) {
    let Validated {
        rows,
        survivors,
        stamped,
        until,
        ..
    } = validated;
    let storage = &storage.0;
    for (published, placed) in &rows.placed {
        published.set(placed);
    }
    let mut entities = rows
        .batch
        .versions
        .iter()
        .map(|version| EntityRow(version.e));
    let mut news = storage.recent.batch();
    for survivor in &survivors {
        let draft = &survivor.submission.draft;
        storage.usage.committed(draft);
        storage.topic_news.committed(draft);
        if let Some(news) = &mut news {
            let committed = survivor.committed;
            news.add_unit(draft, survivor.first, committed, &storage.cache);
        }
        for (write, n) in draft.writes.iter().zip(survivor.first.0..) {
            let Some(row) = entities.next() else { break };
            storage.cache.put(Version {
                row,
                tenant: survivor.tenant,
                position: Position(n),
                live: true,
                image: Image {
                    updated: survivor.committed.at,
                    transaction: draft.id,
                    ..write.image.clone()
                },
            });
        }
        for removal in &draft.removals {
            storage.cache.forget(removal.id);
        }
        // Before runs are woken, which are held back while they are in trouble.
        for (key, record) in draft.records.committed(survivor.committed) {
            storage.troubles.put(&draft.tenant, key, record.as_ref());
            storage.leases.put(&draft.tenant, key, record.as_ref());
        }
        storage.runs.moved(draft.bases().map(|(id, _)| id));
        storage.live_runs.committed(&draft.tenant, &draft.runs);
        let runs = draft.stored_runs(survivor.tenant, survivor.first);
        storage
            .runs
            .committed(&draft.tenant, runs, &storage.watched);
        for (key, record) in draft.records.committed(survivor.committed) {
            storage.mirrors.put(&draft.tenant, key, record.as_ref());
            storage.records.put(&draft.tenant, key, record);
            storage.watched.record_changed(&draft.tenant, key);
        }
    }
    let now = storage.clock.now();
    let written = rows
        .batch
        .versions
        .iter()
        .map(|version| ModelRow(version.m));
    storage.missed.wrote(written, now);
    for grown in &rows.grown {
        let (tenant, deltas) = (grown.tenant, grown.deltas);
        let catalog = &storage.catalog;
        catalog.widen(tenant, &grown.model, &grown.schema, deltas);
    }
    sweeper.note(&rows.batch.outcomes, now);
    publish.send_replace(until);
    // From here on a reader of that instant finds the batch in the cache, too.
    storage.instants.finish(stamped);
    let tenants = survivors
        .iter()
        .map(|survivor| &survivor.submission.draft.tenant);
    storage.recent.publish(news, until, tenants);
    if !rows.noted.is_empty() {
        let noted = Storage(Arc::clone(storage)).of_share(&rows.noted);
        storage.agenda.add(&noted, storage.clock.read());
    }
    for survivor in survivors {
        super::answer(survivor.submission, Ok(survivor.committed));
    }
}
