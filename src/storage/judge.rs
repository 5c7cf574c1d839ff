//! Which units of a batch may be committed: a pure function, in arrival order, over what was
//! committed before and the survivors so far (STORAGE.md §3).

use std::collections::HashMap;

use super::{
    Definitions, Error,
    claims::Holders,
    draft::{Draft, ModelChange},
};
use crate::entity::{Position, Sequence};
use crate::id::{EntityId, ModelKey, Tenant};
use crate::model::{Lock, UniqueKeys};
use crate::workflow::WorkflowSet;

/// What units are judged against.
#[derive(Debug, Default)]
pub(super) struct View {
    /// The current positions of the entities that the batch mentions; none where there is no
    /// such entity.
    pub(super) current: HashMap<EntityId, Option<Position>>,
    /// The models that the batch mentions.
    pub(super) models: HashMap<(Tenant, ModelKey), Option<ModelView>>,
    /// Who holds what the batch claims of unique keys.
    pub(super) holders: Holders,
}

/// What judging wants to know of a model.
#[derive(Debug, Clone, Copy)]
pub(super) struct ModelView {
    pub(super) lock: Lock,
    pub(super) revision: i64,
}

/// Judges one unit whose first write would take `first`; the sequence it gets if it survives.
/// Its writes and then its removals take the positions from `first` on, in their order.
pub(super) fn judge(view: &mut View, draft: &Draft, first: Position) -> Result<Sequence, Error> {
    for guard in &draft.guards {
        let model = view
            .models
            .get(&(draft.tenant.clone(), guard.model.clone()))
            .copied()
            .flatten();
        match model {
            None => return Err(Error::ModelNotFound(guard.model.clone())),
            Some(model) if model.lock == Lock::Unlocked => {
                return Err(Error::ModelNotLocked(guard.model.clone()));
            }
            Some(model) if model.revision != guard.revision => return Err(Error::Conflict),
            Some(_) => {}
        }
    }
    let current = |id: &EntityId| view.current.get(id).copied().flatten();
    let reads_hold = draft.reads.iter().all(|(id, seen)| current(id) == *seen);
    let writes_hold = draft
        .bases()
        .all(|(id, base)| current(&id) == base.map(|base| base.position));
    if !reads_hold || !writes_hold {
        return Err(Error::Conflict);
    }
    view.holders.give(draft)?;
    let mut position = first;
    for (id, _) in draft.bases() {
        view.current.insert(id, Some(position));
        position.0 += 1;
    }
    let decisions = i64::try_from(draft.decisions.len()).unwrap_or(i64::MAX);
    Ok(Sequence(position.0 + decisions))
}

/// What a change makes of a model.
#[derive(Debug)]
pub(super) enum Effect<'a> {
    Make(&'a crate::model::Schema),
    /// Adds a delta to the schema.
    Extend(&'a crate::model::Schema),
    /// Remembers that a sample came that said nothing new.
    Touch,
    SetLock(Lock),
    Delete,
    SetWorkflows(&'a WorkflowSet),
    SetUniqueKeys(UniqueKeys),
}

/// Judges a change of a model (`models-and-entities.md` §2).
pub(super) fn judge_model<'a>(
    key: &ModelKey,
    current: Option<&Definitions>,
    has_entities: bool,
    change: &'a ModelChange,
) -> Result<Effect<'a>, Error> {
    // Who asked counts them; the committer does not take the time.
    let refuse = || Error::ModelHasEntities {
        model: key.clone(),
        count: 0,
    };
    let Some(current) = current else {
        return match change {
            ModelChange::Import(schema) => Ok(Effect::Make(schema)),
            ModelChange::Lock
            | ModelChange::Unlock
            | ModelChange::Delete
            | ModelChange::SetUniqueKeys(_)
            | ModelChange::SetWorkflows { .. } => Err(Error::ModelNotFound(key.clone())),
        };
    };
    match (change, current.model.lock) {
        (ModelChange::Import(schema), Lock::Unlocked) => {
            let known = &current.model.schema;
            let merged = known.clone().merge(schema.clone());
            if merged == *known {
                return Ok(Effect::Touch);
            }
            current.model.check_keys(&merged)?;
            Ok(Effect::Extend(schema))
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
            Ok(Effect::SetUniqueKeys(current.model.read_keys(keys)?))
        }
        (ModelChange::Lock, Lock::Unlocked) => Ok(Effect::SetLock(Lock::Locked)),
        (ModelChange::Unlock, Lock::Unlocked) => Err(Error::ModelAlreadyUnlocked(key.clone())),
        (ModelChange::Unlock, Lock::Locked) | (ModelChange::Delete, Lock::Unlocked)
            if has_entities =>
        {
            Err(refuse())
        }
        (ModelChange::Unlock, Lock::Locked) => Ok(Effect::SetLock(Lock::Unlocked)),
        (ModelChange::Delete, Lock::Unlocked) => Ok(Effect::Delete),
        (ModelChange::SetWorkflows { seen, .. }, _) if *seen != current.workflow_revision => {
            Err(Error::Conflict)
        }
        (ModelChange::SetWorkflows { workflows, .. }, _) => Ok(Effect::SetWorkflows(workflows)),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::clock::Timestamp;
    use crate::entity::{Actor, ActorKind, Image, Json};
    use crate::id::TransactionId;
    use crate::storage::{
        Attribution, EntityRow, ModelRow,
        draft::{Base, Guard, Write},
    };

    pub(in crate::storage) fn draft(
        reads: &[(EntityId, Option<i64>)],
        writes: &[(EntityId, Option<i64>)],
    ) -> Draft {
        Draft {
            id: TransactionId::NIL,
            tenant: "t".into(),
            attribution: Attribution {
                author: Actor {
                    kind: ActorKind::User,
                    name: "u".into(),
                },
                executor: None,
            },
            reads: reads
                .iter()
                .map(|(id, seen)| (*id, seen.map(Position)))
                .collect(),
            guards: Vec::new(),
            writes: writes.iter().map(|(id, base)| write(*id, *base)).collect(),
            removals: Vec::new(),
            decisions: Vec::new(),
            tasks: Vec::new(),
            messages: Vec::new(),
            entry: None,
            model: None,
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
            record: None,
            attribution: None,
        }
    }

    #[test]
    fn the_first_committer_wins() {
        let [a, b, new] = [EntityId::fresh(), EntityId::fresh(), EntityId::fresh()];
        let mut view = View::default();
        view.current.insert(a, Some(Position(3)));
        view.current.insert(b, Some(Position(4)));
        let mut verdict = |draft: Draft, first| {
            judge(&mut view, &draft, Position(first))
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
            let model = model.map(|(lock, revision)| ModelView { lock, revision });
            view.models.insert(("t".into(), key.clone()), model);
            let mut draft = draft(&[], &[]);
            draft.guards.push(Guard {
                model: key.clone(),
                revision: 5,
            });
            assert_eq!(
                judge(&mut view, &draft, Position(1)).is_ok(),
                fits,
                "{model:?}"
            );
        }
    }
}
