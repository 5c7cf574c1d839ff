//! A document against a schema, strictly (`models-and-entities.md` §4.2).

use std::fmt::Write as _;

use super::{
    infer::leaf_type,
    schema::{Node, Schema},
    types::{DataType, Types},
};
use crate::entity::{Document, Shape, Value};

/// How many violations one message tells of.
const LISTED_MAX: usize = 100;

/// One place where a document is not what its model says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    path: String,
    fault: Fault,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Fault {
    Unexpected,
    /// A leaf, but of the wrong type.
    Type {
        expected: Types,
        actual: DataType,
    },
    /// Another kind of thing.
    Kind {
        expected: &'static str,
        actual: String,
    },
}

impl Violation {
    pub(super) fn of_type(&self) -> Option<(&str, &Types, DataType)> {
        match &self.fault {
            Fault::Type { expected, actual } => Some((&self.path, expected, *actual)),
            Fault::Unexpected | Fault::Kind { .. } => None,
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

pub(super) fn list(violations: &[Violation]) -> String {
    let mut text = violations
        .iter()
        .take(LISTED_MAX)
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join("; ");
    if violations.len() > LISTED_MAX {
        let _ = write!(text, "; and {} more", violations.len() - LISTED_MAX);
    }
    text
}

pub(super) fn violations(schema: &Schema, document: &Document) -> Vec<Violation> {
    let mut check = Check {
        path: String::new(),
        found: Vec::new(),
    };
    check.value(&schema.root, document.root());
    check.found
}

struct Check {
    /// Where we are: `lines[2].qty`.
    path: String,
    found: Vec<Violation>,
}

impl Check {
    fn report(&mut self, fault: Fault) {
        self.found.push(Violation {
            path: self.path.clone(),
            fault,
        });
    }

    /// Checks something whose path begins with where we are.
    fn within(&mut self, check: impl FnOnce(&mut Self)) {
        let len = self.path.len();
        check(self);
        self.path.truncate(len);
    }

    fn value(&mut self, node: &Node, value: Value<'_>) {
        match (value.shape(), node) {
            (
                Shape::Object(members),
                Node {
                    members: Some(known),
                    ..
                },
            ) => {
                for (name, value) in members {
                    self.within(|check| {
                        if !check.path.is_empty() {
                            check.path.push('.');
                        }
                        check.path.push_str(&name);
                        match known.get(name.as_ref()) {
                            Some(node) => check.value(node, value),
                            None => check.report(Fault::Unexpected),
                        }
                    });
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
                    self.within(|check| {
                        let _ = write!(check.path, "[{index}]");
                        check.value(known, value);
                    });
                }
            }
            (structure @ (Shape::Object(_) | Shape::Array(_)), _) => self.report(Fault::Kind {
                expected: expected(node),
                actual: kind(&structure).to_owned(),
            }),
            (leaf, _) => self.leaf(node, &leaf),
        }
    }

    fn leaf(&mut self, node: &Node, leaf: &Shape<'_>) {
        let actual = leaf_type(leaf);
        // A null is welcome at a leaf, and at a structure that has been seen as a leaf too.
        if node.types.accept(actual) || actual == DataType::Null && !node.is_structure() {
            return;
        }
        self.report(if node.types.is_empty() && node.is_structure() {
            Fault::Kind {
                expected: expected(node),
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

const fn expected(node: &Node) -> &'static str {
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

    #[test]
    fn every_violation_is_told_with_its_place() {
        let sample = r#"{"sku":"A","qty":3,"tags":["x"],"dims":{"w":1.5},"lines":[{"n":1}],"on":true,"day":"2024-01-01"}"#;
        let schema = Schema::infer(&Document::parse(sample).expect("JSON"));
        for (document, told) in [
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
            let found = violations(&schema, &Document::parse(document).expect(document));
            assert_eq!(list(&found), told, "{document}");
        }
    }
}
