//! A batch after its validation: on its way to the disk, and what is reported of it when it is there.

use std::sync::Arc;

use foldhash::HashSet;

use super::{Survivor, rows::Rows, sweeper::Sweeper};
use crate::clock::Timestamp;
use crate::entity::{Image, Position};
use crate::id::{EntityId, RunId, Tenant};
use crate::storage::{
    Storage,
    draft::Draft,
    handle::Inner,
    port::{EntityRow, Failure, ModelRow, Newest, NodeRow, RecordKey, Syncing, Version},
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
    /// The commit of its last unit.
    pub(super) newest: Newest,
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
                    || draft
                        .runs_left
                        .iter()
                        .any(|(run, _)| self.runs.contains(run))
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

/// Makes a durable batch known: cache, then sequence, then callers (`help/design/storage.md` §3).
pub(super) fn announce(validated: Validated, storage: &Storage, sweeper: &mut Sweeper) {
    let Validated {
        rows,
        survivors,
        stamped,
        newest,
        ..
    } = validated;
    for (published, placed) in &rows.placed {
        published.set(placed);
    }
    let now = storage.0.clock.now();
    take_over(storage, &rows, &survivors, newest, now);
    sweeper.note(&rows.batch.outcomes, now);
    let storage = &storage.0;
    // From here on a reader of that instant finds the batch in the cache, too.
    storage.instants.finish(stamped);
    if !rows.noted.is_empty() {
        let noted = Storage(Arc::clone(storage)).of_share(&rows.noted);
        storage.agenda.add(&noted, storage.clock.read());
    }
    for survivor in survivors {
        super::answer(survivor.submission, Ok(survivor.committed));
    }
}

/// Has the caches take over a durable batch, and then those know of it who follow what happens. If
/// a pulse has found it first, it has had the caches forget what the batch moved; other processes
/// may have changed that since.
fn take_over(
    storage: &Storage,
    rows: &Rows,
    survivors: &[Survivor],
    newest: Newest,
    now: Timestamp,
) {
    let inner = &storage.0;
    let mut applying = inner.applied.begin();
    let is_news = applying.is_news(newest.sequence);
    let mut entities = rows
        .batch
        .versions
        .iter()
        .map(|version| EntityRow(version.e));
    let mut news = inner.recent.batch().filter(|_| is_news);
    for survivor in survivors {
        let draft = &survivor.submission.draft;
        inner.topic_news.committed(draft);
        if let Some(news) = &mut news {
            let committed = survivor.committed;
            news.add_unit(draft, survivor.first, committed, &inner.cache);
        }
        if is_news {
            inner.usage.committed(draft, survivor.committed.sequence);
            keep(inner, survivor, &mut entities);
        }
        records_and_runs(inner, survivor, is_news);
    }
    let written = rows.batch.versions.iter();
    let written = written.map(|version| ModelRow(version.m));
    inner.missed.wrote(written, now);
    if is_news {
        for grown in &rows.grown {
            let (tenant, deltas) = (grown.tenant, grown.deltas);
            let catalog = &inner.catalog;
            catalog.widen(tenant, &grown.model, &grown.schema, deltas);
        }
    }
    applying.finish(newest);
    if is_news {
        let drafts = survivors.iter().map(|survivor| &survivor.submission.draft);
        let tenants = drafts.map(|draft| &draft.tenant);
        // Before a pulse announces later commits: its sequence must not be followed by a lower one.
        inner.recent.publish(news, newest.sequence, tenants);
    }
    drop(applying);
    inner.pulses.has_taken_over();
    storage.notify_others();
}

/// Keeps the versions that a unit has written.
fn keep(inner: &Inner, survivor: &Survivor, entities: &mut impl Iterator<Item = EntityRow>) {
    let draft = &survivor.submission.draft;
    for (write, n) in draft.writes.iter().zip(survivor.first.0..) {
        let Some(row) = entities.next() else { break };
        inner.cache.put(Version {
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
        inner.cache.forget(removal.id);
    }
}

/// Takes over the records and the runs of a unit, and wakes those that wait for them.
fn records_and_runs(inner: &Inner, survivor: &Survivor, is_news: bool) {
    let draft = &survivor.submission.draft;
    // Before runs are woken, which are held back while they are in trouble.
    for (key, record) in draft.records.committed(survivor.committed) {
        if is_news {
            inner.troubles.put(&draft.tenant, key, record.as_ref());
        }
        inner.leases.put(&draft.tenant, key, record.as_ref());
    }
    inner.live_runs.committed(&draft.tenant, &draft.runs);
    let runs = draft.stored_runs(survivor.tenant, survivor.first);
    // Before its runs are woken: a look at one finds what is noted of its tasks.
    inner.runs.note_tasks(&draft.tenant, &draft.task_notes);
    let own = inner.nodes.own().map_or(NodeRow::ALONE, |(own, _)| *own);
    inner
        .runs
        .committed(&draft.tenant, runs, &inner.watched, own, is_news);
    // Only now: a run of this unit may have begun to wait for an entity that the unit moves after it.
    inner.runs.moved(draft.bases().map(|(id, _)| id));
    for (key, record) in draft.records.committed(survivor.committed) {
        inner.mirrors.put(&draft.tenant, key, record.as_ref());
        inner.records.put(&draft.tenant, key, record, is_news);
        inner.watched.record_changed(&draft.tenant, key);
    }
}
