//! How the documents of a unit widen the schemas of their models.
//!
//! What a document adds belongs to the unit that writes it: it is seen by the unit, undone with
//! it, and committed with it as a delta. Deltas merge, whatever their order, so they are no reason
//! for a conflict between writers (`help/design/storage.md` §3); only if two of them put different
//! kinds of values into one place, the second is refused.

use std::{collections::HashMap, sync::Arc};

use crate::id::ModelKey;
use crate::model::{ChangeLevel, Extension, Schema};
use crate::storage::{Error, port::Definitions};

/// After how many deltas the schema is stored again as one, and they are deleted.
pub(in crate::storage) const FOLDED_AT: usize = 64;

/// Who has sent a document that widens a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::storage) enum Sender {
    /// What it adds has to fit the model.
    Caller,
    /// The document is accepted in any case: what does not fit the model is not added to it.
    Member,
}

/// What a unit adds to one model.
#[derive(Debug, Clone)]
pub(in crate::storage) struct Widening {
    pub(in crate::storage) model: ModelKey,
    pub(in crate::storage) delta: Schema,
    /// The level that the model must still have.
    pub(in crate::storage) needs: ChangeLevel,
    /// A member, if it has sent any of it.
    pub(in crate::storage) sender: Sender,
}

/// What the documents of a unit have added so far.
#[derive(Debug, Default)]
pub(in crate::storage) struct Growth {
    /// In the order in which they came; only a rollback takes any back.
    steps: Vec<Widening>,
    /// What the models are with these, as far as that was asked for.
    known: HashMap<ModelKey, Known>,
}

#[derive(Debug)]
struct Known {
    base: Arc<Definitions>,
    /// How many of the steps are in `grown`.
    steps: usize,
    grown: Arc<Definitions>,
}

impl Known {
    fn of(base: &Arc<Definitions>) -> Self {
        Self {
            base: Arc::clone(base),
            steps: 0,
            grown: Arc::clone(base),
        }
    }
}

impl Growth {
    pub(in crate::storage) const fn len(&self) -> usize {
        self.steps.len()
    }

    /// Takes in what a document adds to these definitions: what they are then, and roughly how many
    /// bytes the addition takes.
    pub(in crate::storage) fn add(
        &mut self,
        definitions: Arc<Definitions>,
        extension: Extension,
        sender: Sender,
    ) -> Result<(Arc<Definitions>, usize), Error> {
        let size = encode_schema(&extension.delta)?.len();
        let before = self.steps.len();
        let model = definitions.model.key.clone();
        let known = self
            .known
            .get_mut(&model)
            .filter(|known| known.steps == before && Arc::ptr_eq(&known.grown, &definitions));
        let grown = if let Some(known) = known {
            // Nobody else may have it then, so that no copy is made.
            drop(definitions);
            known.steps += 1;
            Arc::make_mut(&mut known.grown).grow(&extension.delta);
            Arc::clone(&known.grown)
        } else {
            definitions.with(&extension.delta)
        };
        self.steps.push(Widening {
            model,
            delta: extension.delta,
            needs: extension.needs,
            sender,
        });
        Ok((grown, size))
    }

    /// Forgets all but the first.
    pub(in crate::storage) fn truncate(&mut self, len: usize) {
        if len < self.steps.len() {
            self.steps.truncate(len);
            self.known.retain(|_, known| known.steps <= len);
        }
    }

    /// The definitions as the unit sees them.
    pub(in crate::storage) fn apply(&mut self, base: Arc<Definitions>) -> Arc<Definitions> {
        if self.steps.is_empty() {
            return base;
        }
        let model = base.model.key.clone();
        let known = self.known.entry(model).or_insert_with(|| Known::of(&base));
        if !Arc::ptr_eq(&known.base, &base) {
            *known = Known::of(&base);
        }
        for step in &self.steps[known.steps..] {
            if step.model == base.model.key {
                Arc::make_mut(&mut known.grown).grow(&step.delta);
            }
        }
        known.steps = self.steps.len();
        Arc::clone(&known.grown)
    }

    /// What is to be committed: one delta for each model.
    pub(in crate::storage) fn into_widenings(self) -> Vec<Widening> {
        let mut merged: Vec<Widening> = Vec::new();
        for step in self.steps {
            match merged.iter_mut().find(|known| known.model == step.model) {
                Some(known) => {
                    known.delta = std::mem::take(&mut known.delta).merge(step.delta);
                    known.needs = known.needs.max(step.needs);
                    known.sender = known.sender.max(step.sender);
                }
                None => merged.push(step),
            }
        }
        merged
    }
}

/// A schema as it is stored.
pub(in crate::storage) fn encode_schema(schema: &Schema) -> Result<String, Error> {
    schema.encode().map_err(|_| Error::Inconsistent {
        table: "model_delta",
        column: "delta",
        row: 0,
    })
}
