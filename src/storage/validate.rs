//! Which units of a batch may be committed: a pure function, in arrival order, over what was
//! committed before and the survivors so far (`help/design/storage.md` §3).

use std::sync::Arc;

use foldhash::{HashMap, HashSet};

use super::{
    Error,
    draft::{
        Draft, FOLDED_AT, Holders, MessageView, ModelChange, RecordView, Sender, Taken, TopicView,
        encode_schema,
    },
    port::{Definitions, Edit, Effect, ModelRow, RunKey, TaskKey, TenantRow},
};
use crate::entity::{Position, Sequence};
use crate::id::{EntityId, ModelKey, RunId, Tenant};
use crate::model::{ChangeLevel, Lock, Schema};

/// What units are validated against.
#[derive(Debug, Default)]
pub(super) struct View {
    /// The current positions of the entities that the batch mentions; none where there is no
    /// such entity.
    pub(super) current: HashMap<EntityId, Option<Position>>,
    /// Those of the runs that it advances.
    pub(super) runs: HashMap<RunId, Option<Position>>,
    /// Which runs have the keys that its new runs bring.
    pub(super) run_keys: HashMap<(Tenant, RunKey), RunId>,
    /// The models that the batch mentions.
    pub(super) models: HashMap<(Tenant, ModelKey), Option<ModelView>>,
    /// Who holds what the batch claims of unique keys.
    pub(super) holders: Holders,
    /// What is stored for the idempotency keys of the batch.
    pub(super) taken: Taken,
    /// The records that the batch has read.
    pub(super) records: RecordView,
    /// How far the topics go that the batch publishes to.
    pub(super) topics: TopicView,
    /// Those of its lone tasks that are still there.
    pub(super) tasks: HashSet<TaskKey>,
    /// Those of the messages that it deletes that are still there.
    pub(super) messages: MessageView,
}

/// What validation wants to know of a model.
#[derive(Debug, Clone)]
pub(super) struct ModelView {
    pub(super) tenant: TenantRow,
    pub(super) row: ModelRow,
    pub(super) lock: Lock,
    pub(super) revision: i64,
    pub(super) change_level: Option<ChangeLevel>,
    /// With what the survivors so far add.
    pub(super) schema: Arc<Schema>,
    /// How many deltas that is stored as.
    pub(super) deltas: usize,
}

impl From<&Definitions> for ModelView {
    fn from(definitions: &Definitions) -> Self {
        Self {
            tenant: definitions.tenant,
            row: definitions.row,
            lock: definitions.model.lock,
            revision: definitions.revision,
            change_level: definitions.model.change_level,
            schema: Arc::clone(&definitions.model.schema),
            deltas: definitions.deltas,
        }
    }
}

/// A delta that says something new.
#[derive(Debug)]
pub(super) struct NewDelta {
    pub(super) tenant: TenantRow,
    pub(super) row: ModelRow,
    pub(super) model: ModelKey,
    /// What it makes of the schema.
    pub(super) schema: Arc<Schema>,
    pub(super) deltas: usize,
    /// What is to be stored.
    pub(super) text: String,
    /// Whether that is all of the schema, and takes the place of what was stored before.
    pub(super) is_whole: bool,
}

impl View {
    fn model(&self, tenant: &Tenant, key: &ModelKey) -> Option<&ModelView> {
        self.models.get(&(tenant.clone(), key.clone()))?.as_ref()
    }

    /// Adds what a survivor's documents say to the schemas of their models; what of it is new.
    pub(super) fn widen(&mut self, draft: &Draft) -> Result<Vec<NewDelta>, Error> {
        let mut new = Vec::new();
        for widening in &draft.widenings {
            let key = (draft.tenant.clone(), widening.model.clone());
            let Some(model) = self.models.get_mut(&key).and_then(Option::as_mut) else {
                continue;
            };
            let schema = Schema::clone(&model.schema).merge(widening.delta.clone());
            if schema == *model.schema {
                continue;
            }
            let is_whole = model.deltas >= FOLDED_AT;
            let text = encode_schema(if is_whole { &schema } else { &widening.delta })?;
            model.schema = Arc::new(schema);
            model.deltas = if is_whole { 1 } else { model.deltas + 1 };
            new.push(NewDelta {
                tenant: model.tenant,
                row: model.row,
                model: key.1,
                schema: Arc::clone(&model.schema),
                deltas: model.deltas,
                text,
                is_whole,
            });
        }
        Ok(new)
    }
}

impl View {
    /// Whether what a unit adds to models fits what other units have added meanwhile.
    fn deltas_fit(&self, draft: &Draft) -> Result<(), Error> {
        for widening in &draft.widenings {
            let Some(model) = self.model(&draft.tenant, &widening.model) else {
                continue;
            };
            let fits = model.schema.check_delta(&widening.delta);
            fits.map_err(|excess| match widening.sender {
                Sender::Caller => Error::PolymorphicSlot(excess),
                Sender::Member => Error::Conflict,
            })?;
        }
        Ok(())
    }

    /// Whether the runs of a unit are where it has read them, and its new runs bring new keys.
    fn runs_hold(&self, draft: &Draft) -> Result<(), Error> {
        let current = |run: &RunId| self.runs.get(run).copied().flatten();
        let mut left = draft.runs_left.iter();
        if left.any(|(run, seen)| current(run) != Some(*seen)) {
            return Err(Error::Conflict);
        }
        for write in &draft.runs {
            if write.base.is_some() && current(&write.id) != write.base {
                return Err(Error::Conflict);
            }
            for key in &write.keys {
                let name = (draft.tenant.clone(), key.clone());
                if let Some(run) = self.run_keys.get(&name) {
                    return Err(Error::RunExists(*run));
                }
            }
        }
        Ok(())
    }

    /// Takes over the runs of a survivor.
    fn take_runs(&mut self, draft: &Draft, first: Position) {
        for (write, position) in draft.runs.iter().zip(draft.run_positions(first)) {
            self.runs.insert(write.id, Some(position));
            let keys = write.keys.iter();
            self.run_keys
                .extend(keys.map(|key| ((draft.tenant.clone(), key.clone()), write.id)));
        }
    }
}

/// Validates one unit whose first write would take `first`; the sequence it gets if it survives.
/// Its writes, its runs and its removals take the positions from `first` on, in their order.
pub(super) fn validate(view: &mut View, draft: &Draft, first: Position) -> Result<Sequence, Error> {
    if !view.taken.leaves_room_for(draft) {
        return Err(Error::Repeated);
    }
    for guard in &draft.guards {
        match view.model(&draft.tenant, &guard.model) {
            None => return Err(Error::ModelNotFound(guard.model.clone())),
            Some(model) if model.lock == Lock::Unlocked => {
                return Err(Error::ModelNotLocked(guard.model.clone()));
            }
            Some(model) if model.revision != guard.revision => return Err(Error::Conflict),
            Some(_) => {}
        }
    }
    for widening in &draft.widenings {
        let model = view
            .model(&draft.tenant, &widening.model)
            .ok_or_else(|| Error::ModelNotFound(widening.model.clone()))?;
        // It was lowered since the document was looked at.
        if model
            .change_level
            .is_none_or(|level| level < widening.needs)
        {
            return Err(Error::Conflict);
        }
    }
    let current = |id: &EntityId| view.current.get(id).copied().flatten();
    let reads_hold = draft.reads.iter().all(|(id, seen)| current(id) == *seen);
    let writes_hold = draft
        .bases()
        .all(|(id, base)| current(&id) == base.map(|base| base.position));
    let records_hold = view.records.holds(&draft.tenant, &draft.records);
    let lone = draft.lone_tasks();
    let tasks_hold = lone.iter().all(|task| view.tasks.contains(task));
    if !reads_hold || !writes_hold || !records_hold || !tasks_hold {
        return Err(Error::Conflict);
    }
    view.messages.check(draft)?;
    // After what it has read: with other documents it might add something else.
    view.deltas_fit(draft)?;
    view.topics.check(&draft.tenant, &draft.publications)?;
    view.runs_hold(draft)?;
    view.holders.give(draft)?;
    view.taken.take(draft);
    view.take_runs(draft, first);
    for task in &lone {
        view.tasks.remove(task);
    }
    let mut position = first;
    for (index, (id, _)) in draft.bases().enumerate() {
        if index == draft.writes.len() {
            // Runs stand between what is written and what is removed.
            position.0 += draft.run_length();
        }
        view.current.insert(id, Some(position));
        position.0 += 1;
    }
    if draft.removals.is_empty() {
        position.0 += draft.run_length();
    }
    let decisions = i64::try_from(draft.decisions.len()).unwrap_or(i64::MAX);
    let sequence = position.0 + decisions;
    view.records
        .change(&draft.tenant, &draft.records, Position(sequence));
    Ok(Sequence(sequence))
}

/// Validates a change of a model (`models-and-entities.md` §2).
pub(super) fn validate_model<'a>(
    key: &ModelKey,
    current: Option<&Definitions>,
    has_entities: bool,
    change: &'a ModelChange,
) -> Result<Effect<'a>, Error> {
    match (current, change) {
        (Some(current), change) => {
            let edit = validate_edit(key, current, has_entities, change)?;
            Ok(Effect::Edit(current.row, edit))
        }
        (None, ModelChange::Import(schema)) => {
            schema.check_size(key)?;
            Ok(Effect::Make(schema))
        }
        (
            None,
            ModelChange::Lock
            | ModelChange::Unlock
            | ModelChange::Delete
            | ModelChange::SetUniqueKeys(_)
            | ModelChange::SetChangeLevel(_)
            | ModelChange::SetWorkflows { .. },
        ) => Err(Error::ModelNotFound(key.clone())),
    }
}

/// The same, of a model that there is.
fn validate_edit<'a>(
    key: &ModelKey,
    current: &Definitions,
    has_entities: bool,
    change: &'a ModelChange,
) -> Result<Edit<'a>, Error> {
    match (change, current.model.lock) {
        (ModelChange::Import(schema), Lock::Unlocked) => {
            let known = &current.model.schema;
            let merged = Schema::clone(known).merge(schema.clone());
            if merged == **known {
                return Ok(Edit::Touch);
            }
            merged.check_size(key)?;
            current.model.check_keys(&merged)?;
            Ok(if current.deltas >= FOLDED_AT {
                Edit::Fold(merged)
            } else {
                Edit::Extend(schema)
            })
        }
        (
            ModelChange::Import(_)
            | ModelChange::Lock
            | ModelChange::Delete
            | ModelChange::SetUniqueKeys(_),
            Lock::Locked,
        ) => Err(Error::ModelAlreadyLocked(key.clone())),
        // Nothing is claimed: an unlocked model has no entities.
        (ModelChange::SetUniqueKeys(keys), Lock::Unlocked) => {
            Ok(Edit::SetUniqueKeys(current.model.read_keys(keys)?))
        }
        (ModelChange::Lock, Lock::Unlocked) => Ok(Edit::SetLock(Lock::Locked)),
        (ModelChange::Unlock, Lock::Unlocked) => Err(Error::ModelAlreadyUnlocked(key.clone())),
        (ModelChange::Unlock, Lock::Locked) | (ModelChange::Delete, Lock::Unlocked)
            if has_entities =>
        {
            // The caller counts them; the committer does not take the time.
            Err(Error::ModelHasEntities {
                model: key.clone(),
                count: 0,
            })
        }
        (ModelChange::Unlock, Lock::Locked) => Ok(Edit::SetLock(Lock::Unlocked)),
        (ModelChange::Delete, Lock::Unlocked) => Ok(Edit::Delete),
        (ModelChange::SetChangeLevel(level), _) => Ok(Edit::SetChangeLevel(*level)),
        (ModelChange::SetWorkflows { seen, .. }, _) if *seen != current.workflow_revision => {
            Err(Error::Conflict)
        }
        (ModelChange::SetWorkflows { workflows, .. }, _) => Ok(Edit::SetWorkflows(workflows)),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::clock::Timestamp;
    use crate::entity::{Actor, ActorKind, Document, Image, Json};
    use crate::id::TransactionId;
    use crate::storage::{
        draft::{Attribution, Base, Guard, KeyChanges, Widening, Write},
        port::EntityRow,
    };

    pub(in crate::storage) fn draft(
        reads: &[(EntityId, Option<i64>)],
        writes: &[(EntityId, Option<i64>)],
    ) -> Draft {
        let attribution = Attribution {
            author: Actor {
                kind: ActorKind::User,
                name: "u".into(),
            },
            executor: None,
        };
        Draft {
            reads: reads
                .iter()
                .map(|(id, seen)| (*id, seen.map(Position)))
                .collect(),
            writes: writes.iter().map(|(id, base)| write(*id, *base)).collect(),
            ..Draft::new(TransactionId::NIL, "t".into(), attribution)
        }
    }

    pub(in crate::storage) fn write(id: EntityId, base: Option<i64>) -> Write {
        let at = Timestamp::from_micros(0);
        Write {
            image: Image {
                id,
                model: ModelKey::new("m", 1),
                state: "A".into(),
                document: Json::trusted("{}"),
                created: at,
                updated: at,
                transaction: TransactionId::NIL,
                transition: None,
                workflow: None,
            },
            model: ModelRow(1),
            base: base.map(|position| Base {
                row: EntityRow(1),
                position: Position(position),
            }),
            claims: None,
            before: None,
            keys: KeyChanges::default(),
            record: None,
            attribution: None,
        }
    }

    fn model_view(change_level: Option<ChangeLevel>) -> ModelView {
        ModelView {
            tenant: TenantRow(1),
            row: ModelRow(1),
            lock: Lock::Locked,
            revision: 5,
            change_level,
            schema: Arc::default(),
            deltas: 0,
        }
    }

    #[test]
    fn a_run_that_is_left_as_it_is_has_not_moved() {
        let run = RunId::new(1);
        for (current, is_valid) in [(Some(5), true), (Some(6), false), (None, false)] {
            let mut view = View::default();
            view.runs.insert(run, current.map(Position));
            let draft = Draft {
                runs_left: vec![(run, Position(5))],
                ..draft(&[], &[])
            };
            let validated = validate(&mut view, &draft, Position(7));
            assert_eq!(validated.is_ok(), is_valid, "{current:?}");
        }
    }

    #[test]
    fn deltas_merge_and_only_what_is_new_is_stored() {
        let key = ModelKey::new("m", 1);
        let mut view = View::default();
        let model = model_view(Some(ChangeLevel::Structural));
        view.models.insert(("t".into(), key.clone()), Some(model));
        let widening = |sample: &str, needs| {
            let mut draft = draft(&[], &[]);
            draft.widenings.push(Widening {
                model: key.clone(),
                delta: Schema::infer(&Document::parse(sample).expect(sample)),
                needs,
                sender: Sender::Caller,
            });
            draft
        };
        let mut stored = 0;
        for n in 0..3 * i64::try_from(FOLDED_AT).expect("few") {
            let draft = widening(&format!("{{\"f{n}\":1}}"), ChangeLevel::Structural);
            assert!(validate(&mut view, &draft, Position(1)).is_ok());
            let new = view.widen(&draft).expect("encodable");
            assert!(
                view.widen(&draft).expect("encodable").is_empty(),
                "a second time"
            );
            stored = if new[0].is_whole { 1 } else { stored + 1 };
            assert_eq!(new[0].deltas, stored);
            assert!(stored <= FOLDED_AT);
        }
        let view_of = |level| View {
            models: [(("t".into(), key.clone()), level)].into_iter().collect(),
            ..View::default()
        };
        for (level, needs, fits) in [
            (ChangeLevel::Type, ChangeLevel::Structural, false),
            (ChangeLevel::Type, ChangeLevel::Type, true),
            (ChangeLevel::Structural, ChangeLevel::Type, true),
        ] {
            let mut view = view_of(Some(model_view(Some(level))));
            let validated = validate(&mut view, &widening("{}", needs), Position(1));
            assert_eq!(validated.is_ok(), fits, "{level:?} {needs:?}");
        }
        let gone = validate(
            &mut view_of(None),
            &widening("{}", ChangeLevel::Type),
            Position(1),
        );
        assert!(matches!(gone, Err(Error::ModelNotFound(_))));
    }

    #[test]
    fn the_first_committer_wins() {
        let [a, b, new] = [EntityId::fresh(), EntityId::fresh(), EntityId::fresh()];
        let mut view = View::default();
        view.current.insert(a, Some(Position(3)));
        view.current.insert(b, Some(Position(4)));
        let mut verdict = |draft: Draft, first| {
            validate(&mut view, &draft, Position(first))
                .map(|sequence| sequence.0)
                .ok()
        };
        assert_eq!(
            verdict(draft(&[(b, Some(4))], &[(a, Some(3)), (new, None)]), 10),
            Some(12)
        );
        assert_eq!(
            verdict(draft(&[], &[(a, Some(3))]), 13),
            None,
            "written by the one before"
        );
        assert_eq!(
            verdict(draft(&[(a, Some(3))], &[(b, Some(4))]), 13),
            None,
            "read what the one before wrote"
        );
        assert_eq!(
            verdict(draft(&[(new, None)], &[(b, Some(4))]), 13),
            None,
            "saw nothing where something is now"
        );
        assert_eq!(verdict(draft(&[], &[(a, Some(10))]), 13), Some(14));
        assert_eq!(
            verdict(draft(&[], &[(EntityId::fresh(), Some(1))]), 15),
            None,
            "replaces what is not there"
        );
    }

    #[test]
    fn new_entities_need_a_locked_model_that_did_not_change() {
        let key = ModelKey::new("m", 1);
        for (model, fits) in [
            (None, false),
            (Some((Lock::Unlocked, 5)), false),
            (Some((Lock::Locked, 6)), false),
            (Some((Lock::Locked, 5)), true),
        ] {
            let mut view = View::default();
            let seen = model.map(|(lock, revision)| ModelView {
                lock,
                revision,
                ..model_view(None)
            });
            view.models.insert(("t".into(), key.clone()), seen);
            let mut draft = draft(&[], &[]);
            draft.guards.push(Guard {
                model: key.clone(),
                revision: 5,
            });
            assert_eq!(
                validate(&mut view, &draft, Position(1)).is_ok(),
                fits,
                "{model:?}"
            );
        }
    }
}
