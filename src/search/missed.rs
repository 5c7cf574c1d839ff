//! What a search reads without a match, and which indexes would have avoided that.

use std::ops::Deref;

use crate::condition::Narrowing;
use crate::entity::Path;
use crate::model::Schema;
use crate::storage::{Definitions, Index, IndexState, Snapshot, Sought, Wish};

/// What is hardly worth telling: an index would not be felt.
const LITTLE: usize = 64;

/// How many paths one wish has at most, and how many ranges.
const PATHS_MAX: usize = 4;
const RANGES_MAX: usize = 64;

/// Counts for one search, and reports to the storage when the search ends, however it does.
pub(super) struct MissedIndexes<D: Deref<Target = Definitions>> {
    snapshot: Snapshot,
    definitions: D,
    narrowing: Narrowing,
    /// How many entities were looked at.
    pub(super) visited: usize,
    /// How many of them matched.
    pub(super) matched: usize,
}

impl<D: Deref<Target = Definitions>> MissedIndexes<D> {
    pub(super) const fn new(snapshot: Snapshot, definitions: D, narrowing: Narrowing) -> Self {
        Self {
            snapshot,
            definitions,
            narrowing,
            visited: 0,
            matched: 0,
        }
    }
}

impl<D: Deref<Target = Definitions>> Drop for MissedIndexes<D> {
    fn drop(&mut self) {
        let in_vain = self.visited.saturating_sub(self.matched);
        if in_vain < LITTLE || !self.snapshot.hears_wishes() {
            return;
        }
        let indexes = self.snapshot.indexes(&self.definitions);
        let schema = &self.definitions.model.schema;
        let wishes = wishes(&self.narrowing, &indexes, schema);
        if !wishes.is_empty() {
            self.snapshot.wished(&self.definitions, in_vain, wishes);
        }
    }
}

/// Which further indexes would lead to everything that may match: those of any one of the wishes.
fn wishes(narrowing: &Narrowing, indexes: &[Index], schema: &Schema) -> Vec<Wish> {
    let wishes = match narrowing {
        Narrowing::Everything | Narrowing::State(_) | Narrowing::After(_) => return Vec::new(),
        Narrowing::Keys { path, .. } if !schema.has_scalars_at(path) => return Vec::new(),
        Narrowing::Keys { path, .. } if of_path(path, indexes).is_some() => return Vec::new(),
        Narrowing::Keys { path, ranges } => vec![Wish {
            paths: vec![path.clone()],
            sought: vec![Sought::Keys {
                path: path.clone(),
                ranges: ranges.clone(),
            }],
        }],
        Narrowing::All(parts) => parts
            .iter()
            .flat_map(|part| wishes(part, indexes, schema))
            .collect(),
        Narrowing::Any(parts) => {
            let mut all = Wish {
                paths: Vec::new(),
                sought: Vec::new(),
            };
            for part in parts {
                if let Some(sought) = served(part, indexes) {
                    all.sought.extend(sought);
                    continue;
                }
                let Some(wish) = wishes(part, indexes, schema).into_iter().next() else {
                    return Vec::new();
                };
                all.paths.extend(wish.paths);
                all.sought.extend(wish.sought);
            }
            all.paths.sort_unstable_by_key(ToString::to_string);
            all.paths.dedup();
            if all.paths.is_empty() {
                return Vec::new();
            }
            vec![all]
        }
    };
    wishes.into_iter().filter(is_small).collect()
}

/// What a narrowing seeks that the indexes lead to; none if they do not.
fn served(narrowing: &Narrowing, indexes: &[Index]) -> Option<Vec<Sought>> {
    match narrowing {
        Narrowing::Everything | Narrowing::After(_) => None,
        Narrowing::State(state) => Some(vec![Sought::State(state.clone())]),
        Narrowing::Keys { path, ranges } => {
            let index = of_path(path, indexes)?;
            (index.state == IndexState::Ready).then(|| {
                vec![Sought::Keys {
                    path: path.clone(),
                    ranges: ranges.clone(),
                }]
            })
        }
        Narrowing::All(parts) => parts.iter().find_map(|part| served(part, indexes)),
        Narrowing::Any(parts) => {
            let parts = parts.iter().map(|part| served(part, indexes));
            Some(parts.collect::<Option<Vec<_>>>()?.concat())
        }
    }
}

fn of_path<'a>(path: &Path, indexes: &'a [Index]) -> Option<&'a Index> {
    indexes.iter().find(|index| index.path == *path)
}

fn is_small(wish: &Wish) -> bool {
    let ranges = |sought: &Sought| match sought {
        Sought::Keys { ranges, .. } => ranges.len(),
        Sought::State(_) => 1,
    };
    wish.paths.len() <= PATHS_MAX && wish.sought.iter().map(ranges).sum::<usize>() <= RANGES_MAX
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::condition::Condition;
    use crate::entity::Document;

    /// The wishes of a condition where there is no index, each as its paths.
    fn wished(condition: &str) -> Vec<String> {
        let sample = r#"{"a":1,"b":"x","c":true,"o":{"k":1}}"#;
        let schema = Schema::infer(&Document::parse(sample).expect("JSON"));
        let condition = Condition::parse(condition).expect(condition);
        wishes(&condition.narrowing(&schema), &[], &schema)
            .iter()
            .map(|wish| {
                let paths: Vec<_> = wish.paths.iter().map(ToString::to_string).collect();
                paths.join(" ")
            })
            .collect()
    }

    fn leaf(path: &str) -> String {
        format!(r#"{{"type":"simple","jsonPath":"{path}","operatorType":"EQUALS","value":1}}"#)
    }

    fn group(operator: &str, children: &[String]) -> String {
        let children = children.join(",");
        format!(r#"{{"type":"group","operator":"{operator}","conditions":[{children}]}}"#)
    }

    #[test]
    fn one_path_of_an_and_will_do_and_all_of_an_or_are_needed() {
        let [a, b, c] = ["$.a", "$.b", "$.c"].map(leaf);
        let and = |children: &[&String]| {
            group(
                "AND",
                &children
                    .iter()
                    .map(|child| (*child).clone())
                    .collect::<Vec<_>>(),
            )
        };
        let or = |children: &[&String]| {
            group(
                "OR",
                &children
                    .iter()
                    .map(|child| (*child).clone())
                    .collect::<Vec<_>>(),
            )
        };
        let state = r#"{"type":"lifecycle","field":"state","operatorType":"EQUALS","value":"NEW"}"#
            .to_owned();
        let contains =
            r#"{"type":"simple","jsonPath":"$.b","operatorType":"CONTAINS","value":"x"}"#
                .to_owned();
        for (condition, expected) in [
            (a.clone(), &["$.a"][..]),
            (and(&[&a, &b]), &["$.a", "$.b"]),
            (and(&[&a, &contains]), &["$.a"]),
            (or(&[&b, &a, &b]), &["$.a $.b"]),
            (or(&[&a, &contains]), &[]),
            (or(&[&a, &state]), &["$.a"]),
            (and(&[&c, &or(&[&a, &b])]), &["$.c", "$.a $.b"]),
            (or(&[&c, &and(&[&a, &b])]), &["$.a $.c"]),
            (group("NOT", std::slice::from_ref(&a)), &[]),
            (state, &[]),
            (contains, &[]),
            // Nobody could declare an index by these.
            (leaf("$.unknown"), &[]),
            (leaf("$.o"), &[]),
        ] {
            assert_eq!(wished(&condition), expected, "{condition}");
        }
    }

    #[test]
    fn a_wish_for_very_much_is_none() {
        let many: Vec<String> = (0..100).map(|n| n.to_string()).collect();
        let list = many.join(",");
        let leaf =
            format!(r#"{{"type":"simple","jsonPath":"$.a","operatorType":"IN","value":[{list}]}}"#);
        assert!(wished(&leaf).is_empty());
    }
}
