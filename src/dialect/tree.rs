//! YAML and JSON as one tree, which keeps duplicate keys, their order and the digits of numbers.
//!
//! A reader of a dialect reports a duplicate key where it stands, so the tree has to hold both. A
//! `version: 1.10` is the text `1.10`, so a number is kept as it was written.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
    fmt,
    fmt::Write as _,
    rc::Rc,
};

use granit_parser::{Event, Parser, ScalarStyle, Tag};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// How deep lists and maps may nest.
const DEPTH_MAX: usize = 64;

/// How many values a document may have once its aliases are replaced by what they stand for.
const VALUES_MAX: usize = 200_000;

/// How many bytes of text a document may have once its aliases are replaced.
const TEXT_MAX: usize = 4 << 20;

/// A value of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tree {
    Null,
    Bool(bool),
    /// As it was written: `1.10`, `0x1F`.
    Number(Box<str>),
    Text(Box<str>),
    List(Vec<Self>),
    /// In the order given; a key may be there twice.
    Map(Vec<(Box<str>, Self)>),
}

/// Why a text is not a document.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TreeError {
    #[error("the document is larger than {} bytes", super::DOCUMENT_BYTES_MAX)]
    TooLarge,
    #[error("the document is not UTF-8 text")]
    NotText,
    #[error("the document is not valid YAML or JSON: {0}")]
    Syntax(String),
    #[error("the document nests deeper than {DEPTH_MAX} levels")]
    TooDeep,
    #[error("the document is too large once its aliases are replaced; write fewer aliases")]
    TooManyValues,
    #[error("the text holds more than one YAML document; give one at a time")]
    SeveralDocuments,
    #[error("the tag `{0}` is not supported; remove it")]
    Tag(String),
    #[error("a key of a map is not a text")]
    Key,
}

impl Tree {
    /// Reads a text. What begins with `{` is tried as JSON first; every JSON text that is not
    /// valid JSON may still be YAML (`orchestration.md` 1.1).
    pub fn read(text: &str) -> Result<Self, TreeError> {
        if text.len() > super::DOCUMENT_BYTES_MAX {
            return Err(TreeError::TooLarge);
        }
        if text.trim_start().starts_with(['{', '['])
            && let Ok(raw) = serde_json::from_str::<&RawValue>(text)
        {
            return from_json(raw, 0, &mut Budget::default());
        }
        Yaml::new(text).read()
    }

    /// What kind of value it is, for messages.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::Text(_) => "a string",
            Self::List(_) => "a list",
            Self::Map(_) => "a map",
        }
    }

    /// The value as JSON text.
    pub fn to_json(&self) -> String {
        let mut text = String::new();
        self.write(&mut text);
        text
    }

    fn write(&self, into: &mut String) {
        match self {
            Self::Null => into.push_str("null"),
            Self::Bool(truth) => into.push_str(if *truth { "true" } else { "false" }),
            Self::Number(written) => into.push_str(&json_number(written)),
            Self::Text(text) => write_text(text, into),
            Self::List(items) => {
                into.push('[');
                for (at, item) in items.iter().enumerate() {
                    if at > 0 {
                        into.push(',');
                    }
                    item.write(into);
                }
                into.push(']');
            }
            Self::Map(members) => {
                into.push('{');
                for (at, (key, value)) in members.iter().enumerate() {
                    if at > 0 {
                        into.push(',');
                    }
                    write_text(key, into);
                    into.push(':');
                    value.write(into);
                }
                into.push('}');
            }
        }
    }
}

fn write_text(text: &str, into: &mut String) {
    into.push('"');
    for character in text.chars() {
        match character {
            '"' => into.push_str("\\\""),
            '\\' => into.push_str("\\\\"),
            '\n' => into.push_str("\\n"),
            '\r' => into.push_str("\\r"),
            '\t' => into.push_str("\\t"),
            control if u32::from(control) < 0x20 => {
                let _ = write!(into, "\\u{:04x}", u32::from(control));
            }
            other => into.push(other),
        }
    }
    into.push('"');
}

/// A number of YAML's core schema as JSON writes it.
fn json_number(written: &str) -> Cow<'_, str> {
    if let Some(integer) = integer_of_another_base(written) {
        return Cow::Owned(integer.to_string());
    }
    let (sign, digits) = match written.as_bytes().first() {
        Some(b'-') => ("-", &written[1..]),
        Some(b'+') => ("", &written[1..]),
        _ => ("", written),
    };
    let (mantissa, exponent) = match digits.find(['e', 'E']) {
        Some(at) => digits.split_at(at),
        None => (digits, ""),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let whole = whole.trim_start_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    let dot = if fraction.is_empty() { "" } else { "." };
    let json = format!("{sign}{whole}{dot}{fraction}{exponent}");
    if json == written {
        Cow::Borrowed(written)
    } else {
        Cow::Owned(json)
    }
}

/// `0x1F` and `0o17`.
fn integer_of_another_base(written: &str) -> Option<u64> {
    let (digits, base) = match written.get(..2)? {
        "0x" => (&written[2..], 16),
        "0o" => (&written[2..], 8),
        _ => return None,
    };
    u64::from_str_radix(digits, base).ok()
}

/// Whether a plain scalar is a number by YAML's core schema (YAML 1.2.2 §10.3.2).
fn is_number(text: &str) -> bool {
    if integer_of_another_base(text).is_some() {
        return true;
    }
    let text = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let exponent_is_fine = exponent.is_none_or(|exponent| {
        let exponent = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
        !exponent.is_empty() && digits(exponent)
    });
    digits(whole)
        && digits(fraction)
        && !(whole.is_empty() && fraction.is_empty())
        && exponent_is_fine
}

/// What a document may still hold.
struct Budget {
    values: usize,
    text: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            values: VALUES_MAX,
            text: TEXT_MAX,
        }
    }
}

impl Budget {
    fn spend(&mut self, cost: Cost) -> Result<(), TreeError> {
        let values = self.values.checked_sub(cost.values);
        let text = self.text.checked_sub(cost.text);
        (self.values, self.text) = values.zip(text).ok_or(TreeError::TooManyValues)?;
        Ok(())
    }
}

/// What a value adds to a document.
#[derive(Clone, Copy)]
struct Cost {
    values: usize,
    text: usize,
}

impl Cost {
    const fn of(text: &str) -> Self {
        Self {
            values: 1,
            text: text.len(),
        }
    }
}

/// Values whose grammar is checked.
fn from_json(raw: &RawValue, depth: usize, budget: &mut Budget) -> Result<Tree, TreeError> {
    let text = raw.get();
    let syntax = |error: serde_json::Error| TreeError::Syntax(error.to_string());
    budget.spend(Cost { values: 1, text: 0 })?;
    Ok(match text.as_bytes().first() {
        Some(b'{') => {
            let deeper = deeper(depth)?;
            let JsonMembers(members) = serde_json::from_str(text).map_err(syntax)?;
            let members = members.into_iter().map(|(key, value)| {
                let key = key.into_owned().into_boxed_str();
                Ok((key, from_json(value, deeper, budget)?))
            });
            Tree::Map(members.collect::<Result<_, TreeError>>()?)
        }
        Some(b'[') => {
            let deeper = deeper(depth)?;
            let items: Vec<&RawValue> = serde_json::from_str(text).map_err(syntax)?;
            let items = items
                .into_iter()
                .map(|item| from_json(item, deeper, budget));
            Tree::List(items.collect::<Result<_, _>>()?)
        }
        Some(b'"') => Tree::Text(serde_json::from_str::<String>(text).map_err(syntax)?.into()),
        Some(b't') => Tree::Bool(true),
        Some(b'f') => Tree::Bool(false),
        Some(b'n') => Tree::Null,
        _ => Tree::Number(text.into()),
    })
}

const fn deeper(depth: usize) -> Result<usize, TreeError> {
    if depth == DEPTH_MAX {
        Err(TreeError::TooDeep)
    } else {
        Ok(depth + 1)
    }
}

/// The members of a JSON object, duplicates included.
struct JsonMembers<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de> Deserialize<'de> for JsonMembers<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = JsonMembers<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(key) = map.next_key::<String>()? {
                    members.push((Cow::Owned(key), map.next_value()?));
                }
                Ok(JsonMembers(members))
            }
        }
        deserializer.deserialize_map(Collect)
    }
}

/// The key of maps that are merged into the one that has it.
const MERGE: &str = "<<";

type Members = Vec<(Box<str>, Tree)>;

/// A reader of YAML.
struct Yaml<'a> {
    parser: Parser<'a, granit_parser::StrInput<'a>>,
    /// What anchors stand for, and what a use of each costs.
    anchors: HashMap<usize, (Rc<Tree>, Cost)>,
    budget: Budget,
    /// All that has been read so far; the difference of two readings is the cost of a value.
    spent: Cost,
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the parser may have other events, which are not values"
)]
impl<'a> Yaml<'a> {
    fn new(text: &'a str) -> Self {
        let limit = DEPTH_MAX + 2;
        let options = granit_parser::options! {
            flow_nesting_limit: limit,
            block_nesting_limit: limit,
        };
        Self {
            parser: Parser::new_from_str_with_options(text, options),
            anchors: HashMap::new(),
            budget: Budget::default(),
            spent: Cost { values: 0, text: 0 },
        }
    }

    fn read(mut self) -> Result<Tree, TreeError> {
        let mut root = None;
        loop {
            match self.next()? {
                Event::StreamEnd => return Ok(root.unwrap_or(Tree::Null)),
                event @ (Event::Scalar(..)
                | Event::SequenceStart(..)
                | Event::MappingStart(..)
                | Event::Alias(_)) => {
                    if root.is_some() {
                        return Err(TreeError::SeveralDocuments);
                    }
                    root = Some(self.value(event, 0)?);
                }
                _ => {}
            }
        }
    }

    fn next(&mut self) -> Result<Event<'a>, TreeError> {
        match self.parser.next_event() {
            Some(Ok((event, _))) => Ok(event),
            Some(Err(error)) => Err(TreeError::Syntax(error.to_string())),
            None => Ok(Event::StreamEnd),
        }
    }

    fn spend(&mut self, cost: Cost) -> Result<(), TreeError> {
        self.spent.values += cost.values;
        self.spent.text += cost.text;
        self.budget.spend(cost)
    }

    fn value(&mut self, event: Event<'a>, depth: usize) -> Result<Tree, TreeError> {
        let before = self.spent;
        let (anchor, tree) = match event {
            Event::Alias(id) => {
                let known = self.anchors.get(&id).cloned();
                let (tree, cost) = known.ok_or_else(|| {
                    TreeError::Syntax("an alias stands within what it stands for".to_owned())
                })?;
                self.spend(cost)?;
                return Ok(Tree::clone(&tree));
            }
            Event::Scalar(text, style, anchor, tag) => {
                self.spend(Cost::of(&text))?;
                (anchor, scalar(&text, style, tag.as_deref())?)
            }
            Event::SequenceStart(_, anchor, tag) => {
                known_tag(tag.as_deref(), "seq")?;
                self.spend(Cost { values: 1, text: 0 })?;
                (anchor, self.list(deeper(depth)?)?)
            }
            Event::MappingStart(_, anchor, tag) => {
                known_tag(tag.as_deref(), "map")?;
                self.spend(Cost { values: 1, text: 0 })?;
                (anchor, self.map(deeper(depth)?)?)
            }
            _ => return Err(TreeError::Syntax("a value was expected".to_owned())),
        };
        if anchor > 0 {
            let cost = Cost {
                values: self.spent.values - before.values,
                text: self.spent.text - before.text,
            };
            self.anchors.insert(anchor, (Rc::new(tree.clone()), cost));
        }
        Ok(tree)
    }

    fn list(&mut self, depth: usize) -> Result<Tree, TreeError> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                Event::SequenceEnd => return Ok(Tree::List(items)),
                event => items.push(self.value(event, depth)?),
            }
        }
    }

    fn map(&mut self, depth: usize) -> Result<Tree, TreeError> {
        let mut members = Vec::new();
        let mut merged = Vec::new();
        loop {
            let (key, style) = match self.next()? {
                Event::MappingEnd => return Ok(Tree::Map(with_merged(members, merged))),
                Event::Scalar(text, style, _, None) => {
                    self.spend(Cost::of(&text))?;
                    (text.into_owned().into_boxed_str(), style)
                }
                _ => return Err(TreeError::Key),
            };
            let event = self.next()?;
            let value = self.value(event, depth)?;
            if style == ScalarStyle::Plain && &*key == MERGE && is_mergeable(&value) {
                merged.push(value);
            } else {
                members.push((key, value));
            }
        }
    }
}

fn is_mergeable(value: &Tree) -> bool {
    match value {
        Tree::Map(_) => true,
        Tree::List(items) => items.iter().all(|item| matches!(item, Tree::Map(_))),
        Tree::Null | Tree::Bool(_) | Tree::Number(_) | Tree::Text(_) => false,
    }
}

/// The members of a map, then those of maps that are merged into it; of one name, the first counts.
fn with_merged(mut members: Members, merged: Vec<Tree>) -> Members {
    if merged.is_empty() {
        return members;
    }
    let mut known: HashSet<Box<str>> = members.iter().map(|(key, _)| key.clone()).collect();
    let maps = merged.into_iter().flat_map(|merged| match merged {
        Tree::List(maps) => maps,
        map @ (Tree::Map(_) | Tree::Null | Tree::Bool(_) | Tree::Number(_) | Tree::Text(_)) => {
            vec![map]
        }
    });
    for map in maps {
        let Tree::Map(added) = map else { continue };
        let added = added.into_iter();
        members.extend(added.filter(|(key, _)| known.insert(key.clone())));
    }
    members
}

/// The value of a scalar by YAML's core schema; `yes` and `on` are texts.
fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Result<Tree, TreeError> {
    match tag.map(|tag| tag.core_suffix().ok_or(tag)) {
        Some(Ok("str")) => return Ok(Tree::Text(text.into())),
        Some(Ok("int" | "float" | "bool" | "null")) | None => {}
        Some(Ok(_) | Err(_)) => return Err(unknown(tag)),
    }
    if style != ScalarStyle::Plain {
        return Ok(Tree::Text(text.into()));
    }
    Ok(match text {
        "" | "~" | "null" | "Null" | "NULL" => Tree::Null,
        "true" | "True" | "TRUE" => Tree::Bool(true),
        "false" | "False" | "FALSE" => Tree::Bool(false),
        number if is_number(number) => Tree::Number(number.into()),
        text => Tree::Text(text.into()),
    })
}

fn known_tag(tag: Option<&Tag>, suffix: &str) -> Result<(), TreeError> {
    match tag {
        Some(given) if given.core_suffix() != Some(suffix) => Err(unknown(tag)),
        Some(_) | None => Ok(()),
    }
}

fn unknown(tag: Option<&Tag>) -> TreeError {
    TreeError::Tag(tag.map(Tag::original).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> String {
        Tree::read(text).expect(text).to_json()
    }

    #[test]
    fn yaml_and_json_are_the_same_values() {
        for (text, expected) in [
            ("a: 1\nb: [x, 'y', \"z\"]", r#"{"a":1,"b":["x","y","z"]}"#),
            (r#"{"a": 1, "b": ["x"]}"#, r#"{"a":1,"b":["x"]}"#),
            // Plain scalars of the core schema.
            (
                "[1, 1.50, -0, +7, .5, 1., 0x1F, 0o17, 1e400, 007]",
                "[1,1.50,-0,7,0.5,1,31,15,1e400,7]",
            ),
            (
                "[yes, on, no, True, FALSE, ~, null, '', \"1\", 1.2.3, 2024-01-01]",
                r#"["yes","on","no",true,false,null,null,"","1","1.2.3","2024-01-01"]"#,
            ),
            ("!!str 12", "\"12\""),
            ("a: |\n  one\n  two\n", "{\"a\":\"one\\ntwo\\n\"}"),
            ("a: &x {b: 1}\nc: *x", r#"{"a":{"b":1},"c":{"b":1}}"#),
            // Merge keys.
            (
                "a: &x {b: 1, c: 2}\nd: {<<: *x, b: 3}",
                r#"{"a":{"b":1,"c":2},"d":{"b":3,"c":2}}"#,
            ),
            ("<<: [{a: 1}, {a: 2, b: 3}]", r#"{"a":1,"b":3}"#),
            ("{'<<': {a: 1}, <<: 2}", r#"{"<<":{"a":1},"<<":2}"#),
            // Duplicates and their order are kept.
            ("b: 1\na: 2\nb: 3", r#"{"b":1,"a":2,"b":3}"#),
            (r#"{"b":1,"a":2,"b":3}"#, r#"{"b":1,"a":2,"b":3}"#),
            (
                r#"{"n":12345678901234567890.1234,"s":"\ud83d\ude00\u0000"}"#,
                "{\"n\":12345678901234567890.1234,\"s\":\"😀\\u0000\"}",
            ),
            ("", "null"),
            ("# nothing", "null"),
        ] {
            assert_eq!(json(text), expected, "{text}");
        }
    }

    #[test]
    fn a_number_keeps_its_digits() {
        let Tree::Map(members) = Tree::read("version: 1.10").expect("YAML") else {
            panic!("a map");
        };
        assert_eq!(members[0].1, Tree::Number("1.10".into()));
    }

    #[test]
    fn hostile_texts_are_rejected() {
        let deep_flow = format!("{}1{}", "[".repeat(10_000), "]".repeat(10_000));
        let deep_json = format!("{{\"a\":{deep_flow}}}");
        let deep_block: String = (0..10_000).map(|_| "- ").collect::<String>() + "1";
        let many = "x".repeat(super::super::DOCUMENT_BYTES_MAX + 1);
        let bomb = (1..40).fold("a0: &a0 [x, x]\n".to_owned(), |text, n| {
            format!("{text}a{n}: &a{n} [*a{p}, *a{p}]\n", p = n - 1)
        });
        for text in [&deep_flow, &deep_json, &deep_block, &many, &bomb] {
            assert!(Tree::read(text).is_err(), "{}", &text[..40]);
        }
        assert_eq!(Tree::read(&bomb), Err(TreeError::TooManyValues));
        for text in [
            "a: [1",
            "{",
            "a: *b",
            "a: !!binary aGk=",
            "? [1]\n: 2",
            "a: 1\n---\nb: 2",
            "a: \"\\x\"",
            "a: &x [*x]",
        ] {
            assert!(Tree::read(text).is_err(), "{text}");
        }
    }
}
