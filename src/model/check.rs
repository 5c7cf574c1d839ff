//! Strict validation of a document against a schema (`models-and-entities.md` §4.2).

use std::{borrow::Cow, fmt::Write as _};

use super::{
    infer::leaf_type,
    place::{Listed, push_member},
    schema::{Node, Schema},
    types::{DataType, Types},
};
use crate::compat::Compat;
use crate::entity::{Document, Shape, Value};

/// One place where a document violates its model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Dotted, without `$`, long names shortened; empty for the document itself.
    pub path: String,
    fault: Fault,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Fault {
    Unexpected,
    /// A leaf of the wrong type.
    Type {
        expected: Types,
        actual: DataType,
    },
    /// A value of another kind.
    Kind {
        expected: &'static str,
        actual: String,
    },
}

/// The violations of a document, in document order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Violations {
    /// The first thousand, or fewer if their paths are long.
    pub listed: Vec<Violation>,
    /// How many more there are.
    pub more: usize,
    size: Listed,
    /// The first violation about the type of a leaf, which decides the code.
    of_type: Option<Violation>,
}

impl Violations {
    pub const fn is_none(&self) -> bool {
        self.listed.is_empty()
    }

    pub(super) fn of_type(&self) -> Option<(&str, Types, DataType)> {
        let violation = self.of_type.as_ref()?;
        match &violation.fault {
            Fault::Type { expected, actual } => Some((&violation.path, *expected, *actual)),
            Fault::Unexpected | Fault::Kind { .. } => None,
        }
    }
}

impl std::fmt::Display for Violations {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, violation) in self.listed.iter().enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            write!(f, "{separator}{violation}")?;
        }
        if self.more > 0 {
            write!(f, "; and {} more", self.more)?;
        }
        Ok(())
    }
}

impl Violation {
    /// What the model has at the path: types, or a kind; nothing for an unknown field.
    pub fn expected(&self) -> Vec<&'static str> {
        match &self.fault {
            Fault::Unexpected => Vec::new(),
            Fault::Type { expected, .. } => expected.iter().map(DataType::as_str).collect(),
            Fault::Kind { expected, .. } => vec![expected],
        }
    }

    /// What the document has there; none for an unknown field.
    pub fn found(&self) -> Option<&str> {
        match &self.fault {
            Fault::Unexpected => None,
            Fault::Type { actual, .. } => Some(actual.as_str()),
            Fault::Kind { actual, .. } => Some(actual),
        }
    }
}

impl std::fmt::Display for Violation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        match &self.fault {
            Fault::Unexpected => f.write_str("unexpected field not present in model"),
            Fault::Type { expected, actual } => {
                write!(f, "expected {expected}, got {}", actual.as_str())
            }
            Fault::Kind { expected, actual } => write!(f, "expected {expected}, got {actual}"),
        }
    }
}

pub(super) fn violations(schema: &Schema, document: &Document, compat: Compat) -> Violations {
    let mut check = Check {
        compat,
        path: Vec::new(),
        found: Violations::default(),
    };
    check.value(&schema.root, document.root());
    check.found
}

struct Check<'a> {
    compat: Compat,
    /// The current path; written out only for a violation.
    path: Vec<Step<'a>>,
    found: Violations,
}

enum Step<'a> {
    Member(Cow<'a, str>),
    Element(usize),
}

impl<'a> Check<'a> {
    /// The current path: `lines[2].qty`.
    fn path(&self) -> String {
        let mut path = String::new();
        for step in &self.path {
            match step {
                Step::Member(name) => push_member(&mut path, name),
                Step::Element(index) => {
                    let _ = write!(path, "[{index}]");
                }
            }
        }
        path
    }

    fn report(&mut self, fault: Fault) {
        let is_of_type = matches!(fault, Fault::Type { .. });
        let is_first_of_type = is_of_type && self.found.of_type.is_none();
        let is_listed = self.found.size.has_room();
        if !is_listed {
            self.found.more += 1;
        }
        if !is_listed && !is_first_of_type {
            return;
        }
        let violation = Violation {
            path: self.path(),
            fault,
        };
        if is_first_of_type {
            self.found.of_type = Some(violation.clone());
        }
        if is_listed {
            self.found.size.add(&violation.path);
            self.found.listed.push(violation);
        }
    }

    fn value(&mut self, node: &Node, value: Value<'a>) {
        match (value.shape(), node) {
            (
                Shape::Object(members),
                Node {
                    members: Some(known),
                    ..
                },
            ) => {
                for (name, value) in members {
                    let node = known.get(&name);
                    self.path.push(Step::Member(name));
                    match node {
                        Some(node) => self.value(node, value),
                        None => self.report(Fault::Unexpected),
                    }
                    self.path.pop();
                }
            }
            (
                Shape::Array(elements),
                Node {
                    element: Some(known),
                    ..
                },
            ) => {
                for (index, value) in elements.enumerate() {
                    self.path.push(Step::Element(index));
                    self.value(known, value);
                    self.path.pop();
                }
            }
            (structure @ (Shape::Object(_) | Shape::Array(_)), _) => self.report(Fault::Kind {
                expected: expected_kind(node),
                actual: kind(&structure).to_owned(),
            }),
            (leaf, _) => self.leaf(node, &leaf),
        }
    }

    fn leaf(&mut self, node: &Node, leaf: &Shape<'_>) {
        if matches!(leaf, Shape::String(_)) && node.types.accept_any_text(self.compat) {
            return;
        }
        let actual = leaf_type(leaf);
        // Null is valid for a leaf, and for a structure that has also been seen as a leaf.
        if node.types.accept(actual, self.compat)
            || actual == DataType::Null && !node.is_structure()
        {
            return;
        }
        self.report(if node.types.is_empty() && node.is_structure() {
            Fault::Kind {
                expected: expected_kind(node),
                actual: actual.as_str().to_owned(),
            }
        } else {
            Fault::Type {
                expected: node.types,
                actual,
            }
        });
    }
}

pub(super) const fn expected_kind(node: &Node) -> &'static str {
    match node {
        Node {
            members: Some(_), ..
        } => "object",
        Node {
            element: Some(_), ..
        } => "array",
        Node { .. } => "a scalar",
    }
}

const fn kind(shape: &Shape<'_>) -> &'static str {
    match shape {
        Shape::Object(_) => "object",
        Shape::Array(_) => "array",
        Shape::Null | Shape::Bool(_) | Shape::Number(_) | Shape::String(_) => "a scalar",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::place::LISTED_MAX;

    #[test]
    fn every_violation_is_reported_with_its_place() {
        let sample = r#"{"sku":"A","qty":3,"tags":["x"],"dims":{"w":1.5},"lines":[{"n":1}],"on":true,"day":"2024-01-01"}"#;
        let schema = Schema::infer(&Document::parse(sample).expect("JSON"));
        for (document, expected) in [
            (sample, ""),
            ("{}", ""),
            (
                r#"{"sku":null,"qty":13.0,"dims":{"w":2},"day":"any text","tags":[]}"#,
                "",
            ),
            (r#"{"qty":"x"}"#, "qty: expected INTEGER, got STRING"),
            (r#"{"qty":1.5}"#, "qty: expected INTEGER, got DOUBLE"),
            (r#"{"qty":3000000000}"#, "qty: expected INTEGER, got LONG"),
            (r#"{"new":1}"#, "new: unexpected field not present in model"),
            (
                r#"{"dims":{"h":1}}"#,
                "dims.h: unexpected field not present in model",
            ),
            (r#"{"dims":null}"#, "dims: expected object, got NULL"),
            (r#"{"dims":4}"#, "dims: expected object, got INTEGER"),
            (r#"{"lines":{"n":1}}"#, "lines: expected array, got object"),
            (r#"{"sku":["x"]}"#, "sku: expected a scalar, got array"),
            (
                r#"{"lines":[{"n":1},{"n":"x"},{"m":1}]}"#,
                "lines[1].n: expected INTEGER, got STRING; lines[2].m: unexpected field not present in model",
            ),
            ("[]", "expected object, got array"),
            ("1", "expected object, got INTEGER"),
        ] {
            let document = Document::parse(document).expect(document);
            let found = violations(&schema, &document, Compat::Documented);
            assert_eq!(found.to_string(), expected, "{document:?}");
        }
    }

    #[test]
    fn times_and_texts_are_distinguished_by_profile() {
        let schema = |sample: &str| Schema::infer(&Document::parse(sample).expect(sample));
        for (declared, given) in [("x", "2024"), ("2024", "n/a"), ("2024-01-01", "12:30")] {
            let schema = schema(&format!("{{\"a\":\"{declared}\"}}"));
            let document = Document::parse(&format!("{{\"a\":\"{given}\"}}")).expect("JSON");
            assert!(violations(&schema, &document, Compat::Documented).is_none());
            let found = violations(&schema, &document, Compat::Cyoda08);
            assert!(found.of_type().is_some(), "{declared} {given}");
        }
    }

    #[test]
    fn what_is_not_listed_is_counted_and_still_decides() {
        let schema = Schema::infer(&Document::parse(r#"{"a":[{"n":1}]}"#).expect("JSON"));
        let many = vec![r#"{"m":1}"#; LISTED_MAX + 5].join(",");
        let document = format!(r#"{{"a":[{many},{{"n":"x"}}]}}"#);
        let document = Document::parse(&document).expect("JSON");
        let found = violations(&schema, &document, Compat::Documented);
        assert_eq!((found.listed.len(), found.more), (LISTED_MAX, 6));
        assert_eq!(found.of_type().expect("the last").0, "a[1005].n");
        assert!(found.to_string().ends_with("; and 6 more"));
    }

    #[test]
    fn violations_below_long_names_make_a_short_message() {
        let (name, depth, count) = ("k".repeat(20_000), 20, 900);
        let nested = |inner: &str| {
            let open = format!("{{\"{name}\":").repeat(depth);
            Document::parse(&format!("{open}{inner}{}", "}".repeat(depth))).expect("JSON")
        };
        let schema = Schema::infer(&nested(r#"{"b":1}"#));
        let members: Vec<_> = (0..count).map(|n| format!("\"x{n}\":1")).collect();
        let document = nested(&format!("{{{}}}", members.join(",")));
        let found = violations(&schema, &document, Compat::Documented);
        assert_eq!(found.listed.len() + found.more, count);
        assert!(found.more > 0, "{}", found.listed.len());
        let message = found.to_string();
        assert!(message.len() < 512 << 10, "{}", message.len());
        assert!(message.starts_with(&format!("{}….k", "k".repeat(100))));
    }
}
