//! Who holds which values of unique keys (`models-and-entities.md` §9).
//!
//! What an entity says in the fields of a key is its claim. Claims are rows of their own, so that
//! the table, and not the first unit that looked, says what is free. Validating a batch asks once who
//! holds what its units claim, and continues from there in memory: a unit first frees everything of
//! the entities that it removes or whose claims it changes, then claims (step 5 of
//! `help/design/storage.md` §3).

use std::collections::{HashMap, HashSet};

use super::{Draft, Write};
use crate::entity::{Document, Json};
use crate::id::EntityId;
use crate::model::{InvalidValue, KeyValue, UniqueKeys};
use crate::storage::{
    Error,
    port::{Batch, Claim, EntityRow, Freed, NewClaim},
};

/// What an entity claims from now on, instead of what it did.
#[derive(Debug, Clone)]
pub(in crate::storage) struct Claims {
    keys: UniqueKeys,
    values: Vec<KeyValue>,
}

impl Claims {
    /// The claims of a document that replaces another one, or none; none if they stay the same.
    pub(in crate::storage) fn of(
        keys: &UniqueKeys,
        before: Option<&Json>,
        now: &Json,
    ) -> Result<Option<Self>, Error> {
        let values = values(keys, now)?;
        // Of one whose claims are not known all are written again.
        let held = before.and_then(|before| self::values(keys, before).ok());
        Ok((held.as_ref() != Some(&values)).then(|| Self {
            keys: keys.clone(),
            values,
        }))
    }

    /// The rows that say so.
    pub(in crate::storage) fn write(&self, write: &Write, entity: EntityRow, rows: &mut Batch) {
        if write.base.is_some() {
            rows.freed.push(Freed(entity.0));
        }
        rows.claims.extend(self.values.iter().map(|value| NewClaim {
            m: write.model.0,
            u: value.key.into(),
            key: value.bytes.to_vec(),
            e: entity.0,
        }));
    }
}

fn values(keys: &UniqueKeys, document: &Json) -> Result<Vec<KeyValue>, InvalidValue> {
    // What was taken in once can be read again.
    let document = Document::from_json(document).ok();
    document.map_or_else(|| Ok(Vec::new()), |document| keys.values(&document))
}

/// Every claim of a unit.
pub(in crate::storage) fn claimed(draft: &Draft) -> impl Iterator<Item = Claim> {
    draft.writes.iter().flat_map(|write| {
        let values = write.claims.iter().flat_map(|claims| &claims.values);
        values.map(|value| Claim {
            model: write.model,
            value: value.clone(),
        })
    })
}

/// Who holds what the units of a batch claim, after those that survived so far.
#[derive(Debug, Default)]
pub(in crate::storage) struct Holders {
    holder: HashMap<Claim, EntityId>,
    held: HashMap<EntityId, Vec<Claim>>,
}

impl Holders {
    pub(in crate::storage) fn know(&mut self, claim: Claim, holder: EntityId) {
        self.held.entry(holder).or_default().push(claim.clone());
        self.holder.insert(claim, holder);
    }

    /// Gives a unit what it claims, or leaves everything as it was.
    pub(in crate::storage) fn give(&mut self, draft: &Draft) -> Result<(), Error> {
        let mut given: HashMap<Claim, EntityId> = HashMap::new();
        let changed = draft.writes.iter().filter(|write| write.claims.is_some());
        let removed = draft.removals.iter().filter(|removal| removal.keyed);
        let freed: HashSet<EntityId> = changed
            .map(|write| write.image.id)
            .chain(removed.map(|removal| removal.id))
            .collect();
        for write in &draft.writes {
            let Some(claims) = &write.claims else {
                continue;
            };
            let id = write.image.id;
            for value in &claims.values {
                let claim = Claim {
                    model: write.model,
                    value: value.clone(),
                };
                let held = self.holder.get(&claim).filter(|id| !freed.contains(id));
                let other = held.copied().or_else(|| given.insert(claim, id));
                if let Some(other) = other {
                    return Err(Error::UniqueViolation {
                        model: write.image.model.clone(),
                        key: claims.keys.id(value.key).into(),
                        values: claims.keys.describe(value),
                        other,
                    });
                }
            }
        }
        for id in freed {
            for claim in self.held.remove(&id).into_iter().flatten() {
                self.holder.remove(&claim);
            }
        }
        for (claim, id) in given {
            self.know(claim, id);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::{
        draft::{Base, Removal},
        validate::tests::{draft, write},
    };

    const KEYS: &str = r#"[["k",["$.a"]]]"#;

    /// What an entity says; one that is there already is changed by it.
    fn says(id: EntityId, is_new: bool, a: i64) -> Write {
        let keys = UniqueKeys::decode(KEYS).expect("keys");
        let now = Json::trusted(format!(r#"{{"a":{a}}}"#));
        let mut write = write(id, (!is_new).then_some(1));
        write.claims = Claims::of(&keys, None, &now).expect("whole").map(Box::new);
        write
    }

    fn unit(writes: Vec<Write>, removed: &[EntityId]) -> Draft {
        let base = Base {
            row: EntityRow(1),
            position: crate::entity::Position(1),
        };
        Draft {
            writes,
            removals: removed
                .iter()
                .map(|id| Removal {
                    id: *id,
                    base,
                    keyed: true,
                    by: None,
                })
                .collect(),
            ..draft(&[], &[])
        }
    }

    #[test]
    fn a_value_is_held_by_one_entity_and_freed_before_it_is_claimed() {
        let [a, b, c] = [EntityId::fresh(), EntityId::fresh(), EntityId::fresh()];
        let mut holders = Holders::default();
        let mut give = |draft: Draft| holders.give(&draft).is_ok();
        assert!(give(unit(vec![says(a, true, 1)], &[])));
        assert!(!give(unit(vec![says(b, true, 1)], &[])), "taken");
        assert!(
            !give(unit(vec![says(b, true, 2), says(c, true, 2)], &[])),
            "twice in one unit"
        );
        assert!(
            give(unit(vec![says(b, true, 2)], &[])),
            "which left no trace"
        );
        assert!(
            give(unit(vec![says(a, false, 2), says(b, false, 1)], &[])),
            "they change places"
        );
        assert!(!give(unit(vec![says(c, true, 2)], &[])));
        assert!(
            give(unit(vec![says(c, true, 2)], &[a])),
            "freed by a removal"
        );
        assert!(give(unit(vec![says(b, false, 3)], &[])));
        assert!(give(unit(vec![says(a, true, 1)], &[])), "freed by a change");
    }

    #[test]
    fn claims_that_stay_are_not_written() {
        let keys = UniqueKeys::decode(KEYS).expect("keys");
        let of = |before: &str, now: &str| {
            let [before, now] = [before, now].map(Json::trusted);
            Claims::of(&keys, Some(&before), &now).expect("whole")
        };
        assert!(of(r#"{"a":1}"#, r#"{"a":1.0,"b":2}"#).is_none());
        assert!(of("{}", r#"{"b":2}"#).is_none());
        assert!(of(r#"{"a":1}"#, "{}").is_some());
        assert!(of("{}", r#"{"a":1}"#).is_some());
    }
}
