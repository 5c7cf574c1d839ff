//! JSON in which texts that begin with `$.` stand for values of a run.

use std::borrow::Cow;

use indexmap::IndexMap;
use serde_json::value::RawValue;

use super::{Budget, Path, PathError, Root, budget::TooMuchWork, string};
use crate::text;

/// How deep a mapping may nest.
const DEPTH_MAX: usize = 64;

/// A parsed mapping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapping(Node);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Node {
    /// JSON that stays as it is.
    Text(Box<str>),
    Path(Path),
    List(Vec<Self>),
    /// The keys as texts.
    Map(Vec<(Box<str>, Self)>),
}

/// Why a mapping has no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MappingError {
    #[error("the mapping is not valid JSON: {0}")]
    NotJson(String),
    #[error("the mapping nests deeper than {DEPTH_MAX} levels")]
    TooDeep,
    #[error(transparent)]
    Path(#[from] PathError),
    #[error("`{path}` is not a valid path here; paths begin with {known}")]
    UnknownPath { path: String, known: String },
    #[error("the mapped value is larger than {0} bytes")]
    TooLarge(usize),
    #[error("the mapping has too many paths into values that are too large")]
    TooMuchWork,
}

impl Mapping {
    /// Parses JSON.
    pub fn parse(text: &str) -> Result<Self, MappingError> {
        let raw: &RawValue = serde_json::from_str(text).map_err(|error| not_json(&error))?;
        Node::of(raw, 0, &|path| Ok(Path::parse(path)?)).map(Self)
    }

    /// Parses JSON whose paths lead into one value, which [`Self::render`] takes as
    /// [`Root::Input`]: to one of those members of it, or above or below it.
    pub fn parse_among(text: &str, members: &[&str]) -> Result<Self, MappingError> {
        let raw: &RawValue = serde_json::from_str(text).map_err(|error| not_json(&error))?;
        let path = |text: &str| {
            let unknown = || MappingError::UnknownPath {
                path: text::start(text, 200).to_owned(),
                known: members
                    .iter()
                    .map(|member| format!("$.{member}"))
                    .collect::<Vec<_>>()
                    .join(", "),
            };
            Path::parse_among(text, members).ok_or_else(unknown)
        };
        Node::of(raw, 0, &path).map(Self)
    }

    /// Parses a path, or JSON: the form of a run's output.
    pub fn parse_path_or_json(text: &str) -> Result<Self, MappingError> {
        if text.starts_with("$.") {
            return Ok(Self(Node::Path(Path::parse(text)?)));
        }
        Self::parse(text)
    }

    /// The roots of all paths within.
    pub fn roots(&self) -> Vec<&Root> {
        let mut roots = Vec::new();
        self.0.collect(&mut roots);
        roots
    }

    /// The JSON text, at most so many bytes, with the values that `root` gives. What there is
    /// nothing for is null.
    pub fn render<'a>(
        &self,
        max: usize,
        budget: &Budget,
        root: &impl Fn(&Root) -> Option<Cow<'a, str>>,
    ) -> Result<String, MappingError> {
        let mut rendering = Rendering {
            text: String::new(),
            max,
            budget,
        };
        rendering.node(&self.0, root)?;
        Ok(rendering.text)
    }
}

impl From<TooMuchWork> for MappingError {
    fn from(_: TooMuchWork) -> Self {
        Self::TooMuchWork
    }
}

fn not_json(error: &serde_json::Error) -> MappingError {
    MappingError::NotJson(error.to_string())
}

impl Node {
    fn of(
        raw: &RawValue,
        depth: usize,
        path: &dyn Fn(&str) -> Result<Path, MappingError>,
    ) -> Result<Self, MappingError> {
        let text = raw.get();
        if depth > DEPTH_MAX {
            return Err(MappingError::TooDeep);
        }
        Ok(match text.as_bytes().first() {
            Some(b'{') => {
                let members: IndexMap<String, &RawValue> =
                    serde_json::from_str(text).map_err(|error| not_json(&error))?;
                let members = members.into_iter().map(|(key, value)| {
                    let value = Self::of(value, depth + 1, path)?;
                    Ok((key.into_boxed_str(), value))
                });
                Self::Map(members.collect::<Result<_, MappingError>>()?)
            }
            Some(b'[') => {
                let items: Vec<&RawValue> =
                    serde_json::from_str(text).map_err(|error| not_json(&error))?;
                let items = items
                    .into_iter()
                    .map(|item| Self::of(item, depth + 1, path));
                Self::List(items.collect::<Result<_, _>>()?)
            }
            Some(b'"') => match string(text) {
                Some(text) if text.starts_with("$.") || text == "$" => Self::Path(path(&text)?),
                _ => Self::Text(text.into()),
            },
            _ => Self::Text(text.into()),
        })
    }

    fn collect<'a>(&'a self, roots: &mut Vec<&'a Root>) {
        match self {
            Self::Text(_) => {}
            Self::Path(path) => roots.push(&path.root),
            Self::List(items) => items.iter().for_each(|item| item.collect(roots)),
            Self::Map(members) => members.iter().for_each(|(_, value)| value.collect(roots)),
        }
    }
}

/// A value that is being made.
struct Rendering<'w> {
    text: String,
    max: usize,
    budget: &'w Budget,
}

impl Rendering<'_> {
    fn push(&mut self, text: &str) -> Result<(), MappingError> {
        if self.text.len() + text.len() > self.max {
            return Err(MappingError::TooLarge(self.max));
        }
        self.text.push_str(text);
        Ok(())
    }

    fn node<'a>(
        &mut self,
        node: &Node,
        root: &impl Fn(&Root) -> Option<Cow<'a, str>>,
    ) -> Result<(), MappingError> {
        match node {
            Node::Text(text) => self.push(text),
            Node::Path(path) => {
                let value = root(&path.root).unwrap_or(Cow::Borrowed("null"));
                let found = path.find(&value, self.budget)?;
                self.push(found.unwrap_or("null"))
            }
            Node::List(items) => {
                self.push("[")?;
                for (at, item) in items.iter().enumerate() {
                    if at > 0 {
                        self.push(",")?;
                    }
                    self.node(item, root)?;
                }
                self.push("]")
            }
            Node::Map(members) => {
                self.push("{")?;
                for (at, (key, value)) in members.iter().enumerate() {
                    if at > 0 {
                        self.push(",")?;
                    }
                    self.push(&super::quoted(key))?;
                    self.push(":")?;
                    self.node(value, root)?;
                }
                self.push("}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(mapping: &str) -> Result<String, MappingError> {
        Mapping::parse(mapping)?.render(100, &Budget::default(), &|root| {
            Some(Cow::Borrowed(match root {
                Root::Input => r#"{"a":{"b":1.10},"list":[1,"x"]}"#,
                Root::Output(name) if &**name == "s" => r#"{"id":"7"}"#,
                Root::Outcome(name) if &**name == "s" => "\"success\"",
                Root::RunId => "\"wfrun-1\"",
                Root::Timestamp => "1000",
                Root::Output(_) | Root::Outcome(_) => return None,
            }))
        })
    }

    #[test]
    fn texts_that_are_paths_become_values_and_all_else_stays() {
        for (mapping, expected) in [
            (
                r#"{"x": "$.input.a", "y": [ "$.input.list[1]", 1.0, null, true ]}"#,
                r#"{"x":{"b":1.10},"y":["x",1.0,null,true]}"#,
            ),
            (r#""$.input.a.b""#, "1.10"),
            (
                r#"{"$.input": "a $.input", "n": "$5"}"#,
                r#"{"$.input":"a $.input","n":"$5"}"#,
            ),
            (
                r#"["$.steps.s.output.id", "$.steps.s.outcome", "$.steps.t.output.id", "$.steps.t.outcome", "$.input.none.b"]"#,
                r#"["7","success",null,null,null]"#,
            ),
            (
                r#"["$.flo.run_id", "$.flo.timestamp", "$.flo.timestamp.x"]"#,
                r#"["wfrun-1",1000,null]"#,
            ),
            ("{}", "{}"),
        ] {
            assert_eq!(rendered(mapping).as_deref(), Ok(expected), "{mapping}");
        }
    }

    #[test]
    fn paths_into_one_value_lead_to_its_known_members() {
        let known = ["entity.id", "entity.data", "transition"];
        let scope = r#"{"entity":{"id":"e","data":{"a":[1.10]}},"transition":"t"}"#;
        let rendered = |text: &str| {
            let mapping = Mapping::parse_among(text, &known)?;
            mapping.render(1_000, &Budget::default(), &|_| Some(Cow::Borrowed(scope)))
        };
        for (mapping, expected) in [
            (r#"["$.entity.id", "$.transition", "$.entity.none"]"#, None),
            (
                r#"["$.entity.id", "$.transition", "$.entity.data.a[0]", "$.entity.data.b"]"#,
                Some(r#"["e","t",1.10,null]"#),
            ),
            (r#""$.entity""#, Some(r#"{"id":"e","data":{"a":[1.10]}}"#)),
            (r#""$.entities""#, None),
            (r#""$.entity.identity""#, None),
            (r#""$.input""#, None),
            (r#""$""#, None),
            (
                r#"{"plain": "entity.id"}"#,
                Some(r#"{"plain":"entity.id"}"#),
            ),
        ] {
            assert_eq!(rendered(mapping).ok().as_deref(), expected, "{mapping}");
        }
    }

    #[test]
    fn what_cannot_be_mapped_is_an_error() {
        let deep = format!("{}1{}", "[".repeat(100), "]".repeat(100));
        for mapping in [
            "",
            "{",
            "$.input",
            "\"$\"",
            "\"$.foo\"",
            "[\"$.steps.x\"]",
            &deep,
        ] {
            assert!(rendered(mapping).is_err(), "{mapping}");
        }
        let large = format!("[{}]", vec!["\"$.input\""; 50].join(","));
        assert_eq!(rendered(&large), Err(MappingError::TooLarge(100)));
    }
}
