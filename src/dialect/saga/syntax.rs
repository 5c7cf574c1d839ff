//! HCL as blocks, attributes and values, each with the line it begins in.

use std::{borrow::Cow, fmt};

use crate::expr;
use crate::text::shortened;

/// How many bytes of a text stand in a message.
const SHOWN_MAX: usize = 60;

/// Where something is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Hash)]
pub struct SourcePosition {
    /// Which file.
    pub(super) file: usize,
    pub(super) line: u32,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Body {
    pub(super) attributes: Vec<Attribute>,
    pub(super) blocks: Vec<Block>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Attribute {
    pub(super) name: String,
    pub(super) value: Value,
    pub(super) place: SourcePosition,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Block {
    pub(super) kind: String,
    pub(super) labels: Vec<String>,
    pub(super) body: Body,
    pub(super) place: SourcePosition,
    /// As it is written.
    pub(super) text: String,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Value {
    pub(super) content: Content,
    pub(super) place: SourcePosition,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Content {
    Null,
    Bool(bool),
    /// As JSON writes it.
    Number(String),
    Text(String),
    List(Vec<Value>),
    Map(Vec<(String, Value)>),
    /// `env("NAME")`.
    Env(String),
    /// What there is no value of here, in words.
    Other(&'static str),
}

impl Value {
    /// As JSON, in which `env("X")` is `{"$env":"X"}`.
    pub(super) fn to_json(&self) -> String {
        match &self.content {
            Content::Null | Content::Other(_) => "null".to_owned(),
            Content::Bool(truth) => truth.to_string(),
            Content::Number(number) => number.clone(),
            Content::Text(text) => expr::quoted(text),
            Content::List(items) => {
                let items: Vec<_> = items.iter().map(Self::to_json).collect();
                format!("[{}]", items.join(","))
            }
            Content::Map(members) => {
                let members = members.iter();
                let members: Vec<_> = members
                    .map(|(name, value)| format!("{}:{}", expr::quoted(name), value.to_json()))
                    .collect();
                format!("{{{}}}", members.join(","))
            }
            Content::Env(name) => format!("{{\"{ENV}\":{}}}", expr::quoted(name)),
        }
    }

    /// The value and all within it.
    pub(super) fn each<'a>(&'a self, visit: &mut impl FnMut(&'a Self)) {
        visit(self);
        match &self.content {
            Content::List(items) => items.iter().for_each(|item| item.each(visit)),
            Content::Map(members) => members.iter().for_each(|(_, value)| value.each(visit)),
            Content::Null
            | Content::Bool(_)
            | Content::Number(_)
            | Content::Text(_)
            | Content::Env(_)
            | Content::Other(_) => {}
        }
    }
}

/// The only member of an object that stands for a variable.
pub(super) const ENV: &str = "$env";

impl Body {
    /// All values within.
    pub(super) fn each<'a>(&'a self, visit: &mut impl FnMut(&'a Value)) {
        for attribute in &self.attributes {
            attribute.value.each(visit);
        }
        for block in &self.blocks {
            block.body.each(visit);
        }
    }
}

impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind)?;
        for label in &self.labels {
            write!(f, " \"{}\"", shown(label))?;
        }
        Ok(())
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.content {
            Content::Null => f.write_str("null"),
            Content::Bool(truth) => write!(f, "{truth}"),
            Content::Number(number) => f.write_str(&shown(number)),
            Content::Text(text) => write!(f, "\"{}\"", shown(text)),
            Content::List(_) => f.write_str("a list"),
            Content::Map(_) => f.write_str("a map"),
            Content::Env(name) => write!(f, "env(\"{}\")", shown(name)),
            Content::Other(what) => f.write_str(what),
        }
    }
}

fn shown(text: &str) -> Cow<'_, str> {
    shortened(text, SHOWN_MAX)
}
