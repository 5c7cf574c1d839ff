//! Parses a schema from its `SIMPLE_VIEW` form (`models-and-entities.md` §5).

use std::collections::{BTreeMap, BTreeSet};

use super::{
    schema::{Node, Schema, SchemaMembers},
    types::{DataType, Types},
};
use crate::entity::DEPTH_MAX;

/// The entries of each object by path: types for a field, a kind for a structure.
pub type SimpleView = BTreeMap<String, BTreeMap<String, String>>;

/// Why a simple view is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ViewError {
    #[error("the simple view has no `{0}`")]
    Missing(String),
    #[error("`{path}` has the entry `{key}`: `{value}`, which is not a valid entry")]
    Entry {
        path: String,
        key: String,
        value: String,
    },
    #[error("`{0}` is referenced by no entry of the simple view, or by several")]
    Unreached(String),
    #[error("nested deeper than {DEPTH_MAX} levels")]
    TooDeep,
}

impl Schema {
    /// The schema with this simple view. What a view does not contain, such as lists in lists, is
    /// unknown.
    pub fn from_simple_view(view: &SimpleView) -> Result<Self, ViewError> {
        let mut reader = Reader {
            view,
            reached: BTreeSet::new(),
        };
        let root = Node {
            members: Some(reader.members("$", 1)?),
            ..Node::default()
        };
        match view
            .keys()
            .find(|path| !reader.reached.contains(path.as_str()))
        {
            Some(path) => Err(ViewError::Unreached(path.clone())),
            None => Ok(Self { root }),
        }
    }
}

struct Reader<'a> {
    view: &'a SimpleView,
    reached: BTreeSet<&'a str>,
}

impl Reader<'_> {
    fn members(&mut self, path: &str, depth: usize) -> Result<SchemaMembers, ViewError> {
        let (path, bucket) = self
            .view
            .get_key_value(path)
            .ok_or_else(|| ViewError::Missing(path.to_owned()))?;
        // Names with dots could lead to a bucket in more ways than there are buckets.
        if !self.reached.insert(path) {
            return Err(ViewError::Unreached(path.clone()));
        }
        if depth > DEPTH_MAX {
            return Err(ViewError::TooDeep);
        }
        let entries = bucket.iter().map(|(key, value)| {
            let entry = self.entry(path, key, value, depth)?;
            Ok(entry.map(|(name, node)| (name.into(), node)))
        });
        entries.filter_map(Result::transpose).collect()
    }

    fn entry<'k>(
        &mut self,
        path: &str,
        key: &'k str,
        value: &str,
        depth: usize,
    ) -> Result<Option<(&'k str, Node)>, ViewError> {
        let none = || ViewError::Entry {
            path: path.to_owned(),
            key: key.to_owned(),
            value: value.to_owned(),
        };
        if key == "#" && value == "ARRAY_ELEMENT" && path.ends_with("[*]") {
            return Ok(None);
        }
        if let Some(name) = key.strip_prefix("#.") {
            if value != "OBJECT" {
                return Err(none());
            }
            return Ok(Some((
                name,
                self.structure(&format!("{path}.{name}"), depth)?,
            )));
        }
        let name = key.strip_prefix('.').ok_or_else(none)?;
        let types = types(value).ok_or_else(none)?;
        Ok(Some(match name.strip_suffix("[*]") {
            Some(name) => (name, Node::array(Node::leaf(types))),
            None => (name, Node::leaf(types)),
        }))
    }

    /// An object or a list of objects, whichever exists.
    fn structure(&mut self, path: &str, depth: usize) -> Result<Node, ViewError> {
        let elements = format!("{path}[*]");
        let mut node = Node::default();
        if self.view.contains_key(&elements) {
            let element = Node {
                members: Some(self.members(&elements, depth + 2)?),
                ..Node::default()
            };
            node = Node::array(element);
        }
        if node.element.is_none() || self.view.contains_key(path) {
            node.members = Some(self.members(path, depth + 1)?);
        }
        Ok(node)
    }
}

/// `T`, `[T1, T2]`, or with the width of a list `(T x N)`.
fn types(text: &str) -> Option<Types> {
    let within = |text: &str, open, close| {
        let inner = text.strip_prefix(open)?.strip_suffix(close)?;
        Some(inner.to_owned())
    };
    let text = match within(text, '(', ')') {
        Some(wide) => {
            let (types, width) = wide.rsplit_once(" x ")?;
            width.parse::<u64>().ok()?;
            types.to_owned()
        }
        None => text.to_owned(),
    };
    let names = within(&text, '[', ']').unwrap_or(text);
    names.split(',').try_fold(Types::EMPTY, |types, name| {
        Some(types.merge(Types::of(DataType::from_name(name.trim())?)))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::entity::Document;
    use crate::model::{oracle::any_sample, simple_view};

    fn view(json: &serde_json::Value) -> SimpleView {
        serde_json::from_value(json.clone()).expect("a view")
    }

    #[test]
    fn the_documented_view_is_the_documented_sample() {
        let sample = r#"{"sku":"A-1","qty":3,"tags":["x"],"dims":{"w":1.5},"lines":[{"n":1,"opts":["a"]}],
            "a b.c":1,"mixed":[1,"x"],"empty":[],"nothing":null}"#;
        let schema = Schema::infer(&Document::parse(sample).expect("JSON"));
        let read = Schema::from_simple_view(&view(&simple_view(&schema).expect("small")));
        assert_eq!(read, Ok(schema));
        let wide =
            view(&json!({"$": {".tags[*]": "([INTEGER, STRING] x 3)", ".one[*]": "(LONG x 1)"}}));
        let schema = Schema::from_simple_view(&wide).expect("a view");
        assert_eq!(
            simple_view(&schema),
            Ok(json!({"$": {".tags[*]": "[INTEGER, STRING]", ".one[*]": "LONG"}}))
        );
    }

    #[test]
    fn what_is_no_view_is_refused() {
        let many_ways: serde_json::Map<_, _> = (0..40)
            .map(|n| {
                let names =
                    (1..40).map(|n| (format!("#.{}", vec!["a"; n].join(".")), json!("OBJECT")));
                let path = ["$"]
                    .into_iter()
                    .chain(vec!["a"; n])
                    .collect::<Vec<_>>()
                    .join(".");
                (path, names.collect::<serde_json::Map<_, _>>().into())
            })
            .collect();
        for wrong in [
            json!({}),
            json!({"$": {".a": "INT"}}),
            json!({"$": {"a": "INTEGER"}}),
            json!({"$": {"#.a": "OBJECT"}}),
            json!({"$": {"#.a": "ARRAY"}, "$.a": {}}),
            json!({"$": {"#": "ARRAY_ELEMENT"}}),
            json!({"$": {}, "$.a": {}}),
            json!({"$": {".a[*]": "(LONG x many)"}}),
            json!(many_ways),
        ] {
            assert!(Schema::from_simple_view(&view(&wrong)).is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn a_view_that_is_read_has_the_view_it_was(sample in any_sample()) {
            let schema = Schema::infer(&Document::parse(&format!("{{\"r\":{sample}}}")).expect("JSON"));
            let exported = simple_view(&schema).expect("small");
            let read = Schema::from_simple_view(&view(&exported)).expect("a view");
            prop_assert_eq!(simple_view(&read), Ok(exported));
        }
    }
}
