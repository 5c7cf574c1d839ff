//! Paths to values of a run.

use crate::text;
use serde_json::value::RawValue;

use super::{
    budget::{Budget, TooMuchWork},
    members,
};

/// Where a path begins.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Root {
    /// `$.input`: the input of the run.
    Input,
    /// `$.steps.<name>.output`
    Output(Box<str>),
    /// `$.steps.<name>.outcome`
    Outcome(Box<str>),
    /// `$.flo.run_id`
    RunId,
    /// `$.flo.timestamp`: milliseconds since 1970.
    Timestamp,
}

/// A value of a run, such as `$.steps.charge.output.id`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    pub root: Root,
    rest: Vec<Segment>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Segment {
    Field(Box<str>),
    Element(usize),
}

impl Segment {
    /// The member of a JSON value; none if there is no such member.
    pub(super) fn within<'a>(
        &self,
        json: &'a str,
        budget: &Budget,
    ) -> Result<Option<&'a str>, TooMuchWork> {
        budget.take(json.len())?;
        Ok(self.find(json))
    }

    fn find<'a>(&self, json: &'a str) -> Option<&'a str> {
        let value: &RawValue = match self {
            Self::Field(name) => members(json)?.swap_remove(&**name)?,
            Self::Element(at) => {
                let is_list = json.trim_start().starts_with('[');
                let items: Vec<&RawValue> = is_list.then(|| serde_json::from_str(json).ok())??;
                items.get(*at).copied()?
            }
        };
        Some(value.get())
    }
}

/// Why a text is not a path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a path; paths begin with $.input, $.steps.<name>.output, $.steps.<name>.outcome, $.flo.run_id or $.flo.timestamp"
)]
pub struct PathError(String);

impl Path {
    /// Parses `$.input.a[0].b`.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        let path = text.strip_prefix("$.").and_then(Self::below_root);
        path.ok_or_else(|| PathError(text::start(text, 200).to_owned()))
    }

    /// Parses `$.input.a[0].b`, of which the `$.` may be left out.
    pub fn parse_bare(text: &str) -> Result<Self, PathError> {
        if text.starts_with("$.") {
            Self::parse(text)
        } else {
            Self::parse(&format!("$.{text}"))
        }
    }

    /// Parses a path into one value, as [`Root::Input`]: it leads to one of those members of the
    /// value, or above or below it.
    pub(super) fn parse_among(text: &str, members: &[&str]) -> Option<Self> {
        let path = text.strip_prefix("$.")?;
        let is_known = |member: &&str| {
            let below = path.strip_prefix(member);
            let above = member.strip_prefix(path);
            below.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
                || above.is_some_and(|rest| rest.starts_with('.'))
        };
        members.iter().find(|member| is_known(member))?;
        Some(Self {
            root: Root::Input,
            rest: segments(&format!(".{path}"))?,
        })
    }

    fn below_root(text: &str) -> Option<Self> {
        let (root, rest) = if let Some(rest) = text.strip_prefix("input") {
            (Root::Input, rest)
        } else if let Some(rest) = text.strip_prefix("steps.") {
            let (name, rest) = rest.split_once('.').filter(|(name, _)| !name.is_empty())?;
            if let Some(rest) = rest.strip_prefix("output") {
                (Root::Output(name.into()), rest)
            } else {
                (Root::Outcome(name.into()), rest.strip_prefix("outcome")?)
            }
        } else if let Some(rest) = text.strip_prefix("flo.run_id") {
            (Root::RunId, rest)
        } else {
            (Root::Timestamp, text.strip_prefix("flo.timestamp")?)
        };
        Some(Self {
            root,
            rest: segments(rest)?,
        })
    }

    /// The JSON text of what the path leads to within its root; none if there is nothing.
    pub(super) fn find<'a>(
        &self,
        root: &'a str,
        budget: &Budget,
    ) -> Result<Option<&'a str>, TooMuchWork> {
        walk(&self.rest, root, budget)
    }

    /// The JSON text of what the path leads to within its root; none if there is nothing, or if
    /// finding it is too much work.
    pub fn within<'a>(&self, root: &'a str, budget: &Budget) -> Option<&'a str> {
        self.find(root, budget).ok().flatten()
    }
}

/// What these lead to from a value.
pub(super) fn walk<'a>(
    segments: &[Segment],
    from: &'a str,
    budget: &Budget,
) -> Result<Option<&'a str>, TooMuchWork> {
    let mut reached = from;
    for segment in segments {
        let Some(member) = segment.within(reached, budget)? else {
            return Ok(None);
        };
        reached = member;
    }
    Ok(Some(reached))
}

/// `.a.b[0]`, or nothing.
fn segments(mut text: &str) -> Option<Vec<Segment>> {
    let mut segments = Vec::new();
    while !text.is_empty() {
        let rest = if let Some(rest) = text.strip_prefix('.') {
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            let name = Some(&rest[..end]).filter(|name| !name.is_empty())?;
            segments.push(Segment::Field(name.into()));
            &rest[end..]
        } else {
            let (index, rest) = text.strip_prefix('[')?.split_once(']')?;
            let is_index = index.bytes().all(|byte| byte.is_ascii_digit());
            segments.push(Segment::Element(is_index.then(|| index.parse().ok())??));
            rest
        };
        text = rest;
    }
    Some(segments)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_to_values_with_all_their_digits() {
        let json = r#"{"a":{"b":[1.50,{"c":"x"}]},"a b":12345678901234567890.10,"n":null}"#;
        for (path, expected) in [
            ("$.input", Some(json)),
            ("$.input.a.b[0]", Some("1.50")),
            ("$.input.a.b[1].c", Some("\"x\"")),
            ("$.steps.s.output.a b", Some("12345678901234567890.10")),
            ("$.input.n", Some("null")),
            ("$.input.n.x", None),
            ("$.input.missing", None),
            ("$.input.a.b[2]", None),
            ("$.input.a[0]", None),
            ("$.input[0]", None),
        ] {
            let parsed = Path::parse(path).expect(path);
            assert_eq!(parsed.within(json, &Budget::default()), expected, "{path}");
        }
    }

    #[test]
    fn a_path_into_a_large_deep_value_is_too_much_work() {
        let json = format!(
            "{}\"{}\"{}",
            r#"{"a":"#.repeat(200),
            "x".repeat(1 << 20),
            "}".repeat(200)
        );
        let path = Path::parse(&format!("$.input{}", ".a".repeat(200))).expect("a path");
        let budget = Budget::default();
        assert_eq!(path.find(&json, &budget), Err(TooMuchWork));
        assert_eq!(path.within("{}", &budget), None);
        let short = Path::parse("$.input.a").expect("a path");
        assert!(short.within(&json, &budget).is_none(), "nothing is left");
        assert!(short.within(&json, &Budget::default()).is_some());
    }

    #[test]
    fn what_is_not_a_path_is_refused() {
        for text in [
            "$",
            "$.",
            "$.foo",
            "$.inputs",
            "$.input.",
            "$.input..a",
            "$.input[x]",
            "$.input[-1]",
            "$.input[99999999999999999999]",
            "$.input[",
            "$.steps",
            "$.steps.x",
            "$.steps.x.other",
            "$.steps..output",
            "$.flo",
            "$.flo.other",
            "input.a",
        ] {
            assert!(Path::parse(text).is_err(), "{text}");
        }
        assert_eq!(Path::parse_bare("input.a"), Path::parse("$.input.a"));
    }
}
