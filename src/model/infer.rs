//! Infers a schema from a sample (`models-and-entities.md` §3).

use super::{
    schema::{Node, Schema},
    types::{DataType, Types},
};
use crate::entity::{Document, Number, Shape, Temporal, Value};

impl Schema {
    /// The schema of a single sample.
    pub fn infer(sample: &Document) -> Self {
        Self {
            root: seen(sample.root()).settled(),
        }
    }
}

/// The node of a value; the elements of an empty list are unknown.
pub(super) fn seen(value: Value<'_>) -> Node {
    let mut node = Node::default();
    add(&mut node, value);
    // Once at the end: each element of a list may add members to those of the elements before it.
    node.sort();
    node
}

/// Merges a value into a node, without sorting the members.
fn add(node: &mut Node, value: Value<'_>) {
    match value.shape() {
        Shape::Object(members) => {
            let known = node.members.get_or_insert_default();
            for (name, value) in members {
                add(known.entry(&name), value);
            }
        }
        Shape::Array(elements) => {
            let element = node.element.get_or_insert_default();
            for value in elements {
                add(element, value);
            }
        }
        leaf @ (Shape::Null | Shape::Bool(_) | Shape::Number(_) | Shape::String(_)) => {
            node.types = node.types.merge(Types::of(leaf_type(&leaf)));
        }
    }
}

/// The type of a value that is neither an object nor a list.
pub(super) fn leaf_type(leaf: &Shape<'_>) -> DataType {
    match leaf {
        Shape::Bool(_) => DataType::Boolean,
        Shape::Number(literal) => {
            Number::class_of(literal).map_or(DataType::UnboundDecimal, DataType::from)
        }
        Shape::String(text) => {
            Temporal::parse(text).map_or(DataType::String, |time| time.class.into())
        }
        Shape::Null | Shape::Array(_) | Shape::Object(_) => DataType::Null,
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use proptest::{collection::vec, prelude::*};

    use super::*;
    use crate::compat::Compat;
    use crate::model::oracle::any_sample;

    fn infer(json: &str) -> Schema {
        Schema::infer(&Document::parse(json).expect(json))
    }

    #[test]
    fn structure_wins_and_leaf_types_stay_attached() {
        let merged = infer(r#"{"a":{"b":1}}"#)
            .merge(infer(r#"{"a":"text"}"#))
            .merge(infer(r#"{"a":[2]}"#));
        let a = &merged
            .root
            .members
            .as_ref()
            .expect("an object")
            .get("a")
            .expect("known");
        assert!(a.members.is_some() && a.element.is_some() && a.types.contains(DataType::String));
    }

    #[test]
    fn elements_of_an_array_share_a_node() {
        let schema = infer(r#"{"a":[1,2.5,null,"x"],"e":[]}"#);
        let members = schema.root.members.as_ref().expect("an object");
        let types = |name: &str| {
            members
                .get(name)
                .expect("known")
                .element
                .as_ref()
                .expect("an array")
                .types
                .to_string()
        };
        assert_eq!(types("a"), "[DOUBLE, STRING]");
        assert_eq!(types("e"), "NULL");
    }

    #[test]
    fn a_list_of_objects_with_different_members_takes_time_in_proportion() {
        let count = 10_000;
        let elements: Vec<_> = (0..count)
            .map(|n| format!("{{\"a{:05}\":{{\"b{n}\":1}}}}", n * 7_919 % count))
            .collect();
        let sample = Document::parse(&format!("[{}]", elements.join(","))).expect("JSON");
        let began = Instant::now();
        let schema = Schema::infer(&sample);
        // It takes a tenth of a second, and half a minute where each element sorts all members.
        let took = began.elapsed();
        assert!(took < Duration::from_secs(5), "{took:?}");
        let element = schema.root.element.expect("a list");
        let members = element.members.expect("objects");
        assert_eq!(members.len(), count);
        assert!(members.iter().is_sorted_by_key(|(name, _)| name));
    }

    proptest! {
        #[test]
        fn elements_have_the_node_that_merging_them_one_by_one_gives(samples in vec(any_sample(), 0..6)) {
            let document = Document::parse(&format!("[{}]", samples.join(","))).expect("JSON");
            let Shape::Array(elements) = document.root().shape() else {
                panic!("a list");
            };
            let merged = elements.map(seen).reduce(Node::merge);
            prop_assert_eq!(seen(document.root()), Node::array(merged.unwrap_or_default()));
        }

        #[test]
        fn merging_is_commutative_associative_and_idempotent(a in any_sample(), b in any_sample(), c in any_sample()) {
            let (a, b, c) = (infer(&a), infer(&b), infer(&c));
            prop_assert_eq!(a.clone().merge(b.clone()), b.clone().merge(a.clone()));
            prop_assert_eq!(a.clone().merge(b.clone()).merge(c.clone()), a.clone().merge(b.merge(c)));
            prop_assert_eq!(a.clone().merge(a.clone()), a);
        }

        #[test]
        fn a_sample_conforms_to_what_was_inferred_from_it(a in any_sample(), b in any_sample()) {
            let document = Document::parse(&a).expect("JSON");
            let schema = infer(&a).merge(infer(&b));
            prop_assert!(super::super::check::violations(&schema, &document, Compat::Cyoda08).is_none());
        }
    }
}
