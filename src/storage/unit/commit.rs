//! The end of a unit of work: what is handed to the committer.

use tokio_util::sync::CancellationToken;

use super::{Changed, Removed, Saved, UnitOfWork};
use crate::engine::Record;
use crate::storage::{
    Error,
    draft::{Claims, Committed, Draft, Guard, KeyChanges, Removal, Write},
};

impl UnitOfWork {
    /// How many bytes it holds that are to be written, roughly.
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Commits everything, or nothing. Cancelling has an effect until the committer takes it.
    pub fn commit(
        self,
        cancel: &CancellationToken,
    ) -> impl Future<Output = Result<Committed, Error>> + Send {
        let Self { storage, bytes, .. } = &self;
        let (storage, bytes) = (storage.clone(), *bytes);
        let assumption = self.assumption.clone();
        // What awaits its turn is small, since it is moved from place to place.
        let draft = self.into_draft().map(Box::new);
        async move {
            let draft = draft?;
            if draft.is_empty() {
                // What was only read was read as of one sequence; there is nothing to validate.
                return Ok(Committed {
                    sequence: storage.latest(),
                    at: storage.now(),
                });
            }
            let outcome = storage.submit(draft, bytes, cancel).await;
            if let Some(assumption) = assumption {
                assumption.met(&outcome);
            }
            outcome
        }
    }

    fn into_draft(self) -> Result<Draft, Error> {
        let mut saved = Vec::new();
        let mut removals = Vec::new();
        for (id, changed) in self.changes {
            match changed {
                Changed::Saved(changed) => saved.push(changed),
                Changed::Removed(Removed { base, keyed, by }) => removals.push(Removal {
                    id,
                    base,
                    keyed,
                    by,
                }),
                Changed::Unmade => {}
            }
        }
        saved.sort_unstable_by_key(|saved| saved.order);
        removals.sort_unstable_by_key(|removal| removal.base.row);
        let indexes = self.storage.0.indexes.current();
        let (runs, runs_left, task_notes) = self.runs.into_parts();
        let write = |saved: Box<Saved>| {
            Ok(Write {
                claims: saved.claims()?.map(Box::new),
                keys: KeyChanges::between(
                    &indexes,
                    saved.model,
                    saved.before.as_ref(),
                    Some(&saved.image.document),
                ),
                before: saved.before,
                image: saved.image,
                model: saved.model,
                base: saved.base,
                record: Record::of(saved.runs).encode().map(Into::into),
                attribution: saved
                    .attribution
                    .filter(|attribution| *attribution != self.attribution),
            })
        };
        Ok(Draft {
            id: self.id,
            tenant: self.tenant,
            writes: saved.into_iter().map(write).collect::<Result<_, Error>>()?,
            attribution: self.attribution,
            reads: self.reads,
            guards: self
                .guards
                .into_iter()
                .map(|(model, revision)| Guard { model, revision })
                .collect(),
            removals,
            decisions: self.decisions,
            tasks: self.tasks,
            runs,
            runs_left,
            task_notes,
            messages: self.messages,
            widenings: self.growth.into_widenings(),
            outcomes: self.outcomes,
            records: self.records,
            publications: self.publications,
            entry: self.entry,
            assumed: self.assumption.and_then(|assumption| assumption.assumed()),
            model: None,
        })
    }
}

impl Saved {
    /// What the entity claims of the unique keys of its model, if that changes.
    fn claims(&self) -> Result<Option<Claims>, Error> {
        if self.unique_keys.is_empty() {
            return Ok(None);
        }
        Claims::of(
            &self.unique_keys,
            self.before.as_ref(),
            &self.image.document,
        )
    }
}
