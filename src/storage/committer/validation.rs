//! Validating a batch: against what, and what becomes of each of its units.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::Arc,
};

use super::{Committer, Refused, Survivor, flight::Validated, rows::Rows, topics::topics};
use crate::clock::Timestamp;
use crate::entity::{Position, Sequence};
use crate::storage::{
    Error, Storage,
    draft::{
        Committed, Draft, Holders, IfGone, MessageChange, MessageView, RecordView, Taken, claimed,
    },
    port::{Newest, TaskKey},
    submission::Submission,
    validate::{self, ModelView, View},
};

impl Committer {
    /// What the batch is validated against: what the cache does not know is asked for in one trip.
    pub(super) async fn view(&mut self, batch: &[Submission]) -> Result<View, Error> {
        if self.newest_entity.is_none() {
            self.newest_entity = Some(self.storage.0.database.newest_entity().await?);
        }
        let drafts = || batch.iter().map(|submission| &*submission.draft);
        let mut view = View {
            taken: taken(&self.storage, drafts()).await?,
            ..View::default()
        };
        let mut unknown = Vec::new();
        for draft in drafts() {
            let replaced = draft
                .bases()
                .filter(|(_, base)| base.is_some())
                .map(|(id, _)| id);
            for id in replaced.chain(draft.reads.keys().copied()) {
                if let Entry::Vacant(entry) = view.current.entry(id) {
                    let known = self.storage.0.cache.get(id).map(|version| version.position);
                    if known.is_none() {
                        unknown.push(id);
                    }
                    entry.insert(known);
                }
            }
            let guarded = draft.guards.iter().map(|guard| &guard.model);
            let widened = draft.widenings.iter().map(|widening| &widening.model);
            for model in guarded.chain(widened) {
                let key = (draft.tenant.clone(), model.clone());
                if let Entry::Vacant(entry) = view.models.entry(key) {
                    let model = self.storage.definitions(&draft.tenant, model).await?;
                    entry.insert(model.as_deref().map(ModelView::from));
                }
            }
        }
        if !unknown.is_empty() {
            let found = self.storage.0.database.positions(&unknown).await?;
            view.current
                .extend(found.into_iter().map(|(id, position)| (id, Some(position))));
        }
        view.holders = holders(&self.storage, drafts()).await?;
        view_runs(&self.storage, &mut view, batch).await?;
        view.records = records(&self.storage, drafts()).await?;
        view.topics = topics(&self.storage, &mut self.newest_topic, drafts()).await?;
        view.messages = messages(&self.storage, drafts()).await?;
        let lone: Vec<TaskKey> = drafts().flat_map(Draft::lone_tasks).collect();
        if !lone.is_empty() {
            let found = self.storage.0.database.tasks(&lone).await?;
            view.tasks = found.into_iter().map(|task| task.key).collect();
        }
        Ok(view)
    }

    /// Validates and stamps a batch. None if all fail; those that do are returned, too.
    pub(super) async fn validate(
        &mut self,
        mut view: View,
        batch: Vec<Submission>,
    ) -> (Option<Validated>, Vec<Refused>) {
        let mut refused = Vec::new();
        let mut rows = Rows::with_room(batch.len());
        rows.batch.follows = self.follows();
        let mut survivors = Vec::with_capacity(batch.len());
        let count = i64::try_from(batch.len()).unwrap_or(i64::MAX);
        let stamped = self.storage.0.instants.stamp(self.storage.now(), count);
        let mut at = stamped.micros();
        let is_shared = self.storage.0.database.is_shared();
        for mut submission in batch {
            let first = Position(self.next);
            let Draft {
                assumed, tenant, ..
            } = &*submission.draft;
            let holds = |assumed| self.storage.holds(assumed, tenant, self.revision);
            let validated = if assumed.is_none_or(holds) {
                validate::validate(&mut view, &submission.draft, first)
            } else {
                Err(Error::Conflict)
            };
            let written = match validated {
                Ok(sequence) => {
                    let committed = Committed {
                        sequence,
                        at: Timestamp::from_micros(at),
                    };
                    let draft = &submission.draft;
                    let prepared = self.prepare(draft, committed).await;
                    // No later than this, since what comes after relies on it.
                    let widened = prepared
                        .and_then(|prepared| view.widen(draft).map(|deltas| (prepared, deltas)));
                    widened.map(|(prepared, deltas)| {
                        let tenant = self.add(draft, first, committed, prepared, &mut rows);
                        rows.add_deltas(deltas, committed.sequence);
                        self.publish(tenant, draft, committed, &mut view, &mut rows);
                        (tenant, committed)
                    })
                }
                Err(error) => Err(error),
            };
            match written {
                Ok((tenant, committed)) => {
                    self.next = committed.sequence.0 + 1;
                    at += 1;
                    view.messages.take(&mut submission.draft);
                    if is_shared {
                        let bytes = submission.draft.stored_bytes();
                        rows.batch.add_stored(tenant.0, bytes);
                    }
                    survivors.push(Survivor {
                        submission,
                        tenant,
                        committed,
                        first,
                    });
                }
                Err(Error::Database(error)) => {
                    self.failure = Some(error);
                    refused.push((submission, Error::Unavailable));
                }
                Err(error) => refused.push((submission, error)),
            }
        }
        if survivors.is_empty() {
            self.storage.0.instants.finish(stamped);
            return (None, refused);
        }
        let revision = self.revision + i64::from(rows.batch.changes_definitions());
        let bytes = survivors.iter().map(|survivor| survivor.submission.bytes);
        let validated = Validated {
            bytes: bytes.sum(),
            rows,
            survivors,
            stamped,
            newest: Newest {
                sequence: Sequence(self.next - 1),
                at: Timestamp::from_micros(at - 1),
                revision,
            },
        };
        (Some(validated), refused)
    }
}

/// What is stored for the keys of units; of none, without a trip.
pub(super) async fn taken<'a>(
    storage: &Storage,
    drafts: impl Iterator<Item = &'a Draft>,
) -> Result<Taken, Error> {
    let mut tenants = HashMap::new();
    let mut names = Vec::new();
    for draft in drafts.filter(|draft| !draft.outcomes.is_empty()) {
        // Of a tenant that has never written nothing is stored.
        if let Some(row) = storage.tenant_row(&draft.tenant).await? {
            tenants.insert(row, draft.tenant.clone());
            let keys = draft.outcomes.iter().map(|outcome| &outcome.once.key);
            names.extend(keys.map(|key| (row, Arc::clone(key))));
        }
    }
    let mut taken = Taken::default();
    if !names.is_empty() {
        let inner = &storage.0;
        for stored in inner.database.prints(&names, storage.now()).await? {
            if let Some(tenant) = tenants.get(&stored.tenant) {
                taken.know(tenant, &stored);
            }
        }
    }
    Ok(taken)
}

/// Who holds what units claim; of none, without a trip.
async fn holders<'a>(
    storage: &Storage,
    drafts: impl Iterator<Item = &'a Draft>,
) -> Result<Holders, Error> {
    let claimed: Vec<_> = drafts.flat_map(claimed).collect();
    let mut holders = Holders::default();
    if !claimed.is_empty() {
        for (claim, holder) in storage.0.database.holders(&claimed).await? {
            holders.know(claim, holder);
        }
    }
    Ok(holders)
}

/// Where the runs of a batch are, and which have the keys of its new ones; of none, without a
/// trip.
async fn view_runs(storage: &Storage, view: &mut View, batch: &[Submission]) -> Result<(), Error> {
    let mut unknown = Vec::new();
    for submission in batch {
        let draft = &*submission.draft;
        let advanced = draft.runs.iter().filter(|write| write.base.is_some());
        let left = draft.runs_left.iter().map(|(run, _)| *run);
        for run in advanced.map(|write| write.id).chain(left) {
            let known = storage.0.runs.position(run);
            if known.is_none() {
                unknown.push(run);
            }
            view.runs.insert(run, known);
        }
        for write in &draft.runs {
            if let Some(tenant) = storage.tenant_row(&draft.tenant).await?
                && !write.keys.is_empty()
            {
                let found = storage.0.database.run_keys(tenant, &write.keys).await?;
                let found = found.into_iter();
                let named = found.map(|(key, run)| ((draft.tenant.clone(), key), run));
                view.run_keys.extend(named);
            }
        }
    }
    if !unknown.is_empty() {
        let found = storage.0.database.run_positions(&unknown).await?;
        let found = found.into_iter();
        view.runs.extend(found.map(|(run, at)| (run, Some(at))));
    }
    Ok(())
}

/// The messages that units delete and that are there; of none, without a trip.
async fn messages<'a>(
    storage: &Storage,
    drafts: impl Iterator<Item = &'a Draft>,
) -> Result<MessageView, Error> {
    let inner = &storage.0;
    // Where other processes write too, any of them may count.
    let counts = inner.usage.is_counted() || inner.database.is_shared();
    let wanted = |change: &MessageChange| match change {
        MessageChange::Drop(id, if_gone, _) => {
            (counts || *if_gone != IfGone::Ignore).then_some(*id)
        }
        MessageChange::Put(..) => None,
    };
    let mut tenants = HashMap::new();
    let mut ids = Vec::new();
    for draft in drafts.filter(|draft| !draft.messages.is_empty()) {
        // A tenant that has never written has no messages.
        if let Some(row) = storage.tenant_row(&draft.tenant).await? {
            tenants.insert(row, &draft.tenant);
            ids.extend(draft.messages.iter().filter_map(wanted));
        }
    }
    let mut view = MessageView::default();
    if !ids.is_empty() {
        for (id, tenant, bytes) in inner.database.message_sizes(&ids).await? {
            if let Some(tenant) = tenants.get(&tenant) {
                view.know(id, tenant, usize::try_from(bytes).unwrap_or(0));
            }
        }
    }
    Ok(view)
}

/// The positions of what units have read of records; of nothing, without a trip.
async fn records<'a>(
    storage: &Storage,
    drafts: impl Iterator<Item = &'a Draft>,
) -> Result<RecordView, Error> {
    let mut view = RecordView::default();
    let (mut names, mut tenants) = (Vec::new(), Vec::new());
    for draft in drafts {
        for key in draft.records.reads.keys() {
            if view.knows(&draft.tenant, key) {
                continue;
            }
            let known = storage.0.records.get(&draft.tenant, key);
            view.know(
                &draft.tenant,
                key,
                known.as_ref().map(|known| known.position),
            );
            if known.is_some() {
                continue;
            }
            // A tenant that has never written has no records.
            if let Some(row) = storage.tenant_row(&draft.tenant).await? {
                names.push((row, key.clone()));
                tenants.push(&draft.tenant);
            }
        }
    }
    if !names.is_empty() {
        for (place, position) in storage.0.database.record_positions(&names).await? {
            if let (Some((_, key)), Some(tenant)) = (names.get(place), tenants.get(place)) {
                view.know(tenant, key, Some(position));
            }
        }
    }
    Ok(view)
}
