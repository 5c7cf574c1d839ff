//! Lists of runs (`runs.md` §4, `orchestration.md` 1.13).

use std::{borrow::Cow, cmp::Ordering, sync::Arc};

use super::{Shown, State, state::RunKind};
use crate::clock::Timestamp;
use crate::dialect::flo::MANAGER;
use crate::entity::Number;
use crate::error::Failure;
use crate::id::{EntityId, RunId, Tenant};
use crate::program::{Payload, Status};
use crate::runtime::Runtime;
use crate::storage::{RunName, RunsWanted};

/// How many runs are read at a time.
const PAGE: i64 = 256;

/// How many runs are looked at for one page of answers; what follows is for the next page.
const LOOKED_AT_MAX: usize = 20_000;

/// Which runs are asked for.
#[derive(Debug, Clone)]
pub struct RunsAsked {
    pub namespace: Arc<str>,
    pub name: Option<Arc<str>>,
    pub version: Option<Box<str>>,
    pub statuses: Vec<Status>,
    pub kind: Option<RunKind>,
    /// A text that is part of an id, name, step, input or attribute, whatever its case.
    pub search: Option<Box<str>>,
    pub attributes: Vec<AttributeFilter>,
    pub entity: Option<EntityId>,
    pub parent: Option<RunId>,
    /// The runs before it.
    pub before: Option<RunId>,
    pub limit: usize,
}

/// A filter by a search attribute.
#[derive(Debug, Clone)]
pub struct AttributeFilter {
    pub name: Box<str>,
    pub comparison: Comparison,
    pub value: Box<str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    Equal,
    Less,
    Greater,
}

impl AttributeFilter {
    /// Reads `a=x`, `n<5` or `n>5`. What is ordered is a number or a time.
    pub fn parse(text: &str) -> Option<Self> {
        let at = text.find(['=', '<', '>'])?;
        let (name, rest) = text.split_at(at);
        let comparison = match rest.as_bytes().first()? {
            b'=' => Comparison::Equal,
            b'<' => Comparison::Less,
            _ => Comparison::Greater,
        };
        let value = &rest[1..];
        // Otherwise `a==x`, `a!=x`, `a=>5` and `a = x` would be filters that no run passes.
        let is_name = !name.is_empty() && !name.ends_with(['!', ' ']);
        let is_value = !value.starts_with(['=', '<', '>']);
        let is_ordered = comparison == Comparison::Equal || number(value).is_some();
        (is_name && is_value && is_ordered).then(|| Self {
            name: name.into(),
            comparison,
            value: value.into(),
        })
    }

    fn holds(&self, state: &State) -> bool {
        let mut attributes = state.run.attributes.iter();
        let Some((_, json)) = attributes.find(|(name, _)| *name == self.name) else {
            return false;
        };
        if let Some(text) = crate::expr::string(json) {
            // Texts have no order here.
            return self.comparison == Comparison::Equal && *text == *self.value;
        }
        let Some((own, asked)) = number(json).zip(number(&self.value)) else {
            return false;
        };
        let order = match self.comparison {
            Comparison::Equal => Ordering::Equal,
            Comparison::Less => Ordering::Less,
            Comparison::Greater => Ordering::Greater,
        };
        own.cmp(&asked) == order
    }
}

/// A number, or the milliseconds of a time (RFC 3339), as attributes have it. Digits count that a
/// double does not have.
fn number(text: &str) -> Option<Number> {
    if let Some(number) = Number::parse(text) {
        return Some(number);
    }
    // People write numbers also as no JSON has them, such as `+5` and `.5`.
    if let Some(number) = text.parse::<f64>().ok().filter(|number| number.is_finite()) {
        return Number::parse(&number.to_string());
    }
    let at = Timestamp::parse(text).ok()?;
    Number::parse(&at.millis().to_string())
}

impl Runtime {
    /// The runs that are asked for, the newest first. With them comes the one after which to
    /// continue, if there may be more.
    pub async fn list_runs(
        &self,
        tenant: &Tenant,
        asked: &RunsAsked,
    ) -> Result<(Vec<Shown>, Option<RunId>), Failure> {
        // All ticks have one name.
        let of_ticks = (asked.kind == Some(RunKind::Manager)).then(|| Arc::from(MANAGER));
        let named = asked.name.clone().or(of_ticks);
        let mut wanted = RunsWanted {
            name: named.as_ref().map(|name| RunName {
                namespace: Arc::clone(&asked.namespace),
                name: Arc::clone(name),
            }),
            parent: asked.parent,
            entity: asked.entity,
            before: asked.before,
        };
        let (mut found, mut looked_at) = (Vec::new(), 0);
        loop {
            let page = self.storage().runs(tenant, &wanted, PAGE).await?;
            let is_last = i64::try_from(page.len()).is_ok_and(|rows| rows < PAGE);
            for stored in page {
                if found.len() == asked.limit || looked_at == LOOKED_AT_MAX {
                    return Ok((found, wanted.before));
                }
                looked_at += 1;
                wanted.before = Some(stored.id);
                let name = &stored.name;
                let is_of_name = asked.name.as_ref().is_none_or(|asked| *asked == name.name);
                if name.namespace != asked.namespace || !is_of_name || name.name.starts_with('@') {
                    continue;
                }
                let shown = self.shown_run(tenant, Arc::new(stored)).await?;
                if self.is_asked_for(&shown, asked).await? {
                    found.push(shown);
                }
            }
            if is_last {
                return Ok((found, None));
            }
            tokio::task::yield_now().await;
        }
    }

    async fn is_asked_for(&self, shown: &Shown, asked: &RunsAsked) -> Result<bool, Failure> {
        let state = &shown.state;
        let version = asked.version.as_ref();
        if version.is_some_and(|version| **version != *state.version)
            || asked.kind.is_some_and(|kind| kind != state.kind())
            || (!asked.statuses.is_empty() && !asked.statuses.contains(&state.run.status))
            || asked
                .parent
                .is_some_and(|up| shown.stored.parent != Some(up))
            || asked
                .entity
                .is_some_and(|of| shown.stored.entity != Some(of))
            || !asked.attributes.iter().all(|filter| filter.holds(state))
        {
            return Ok(false);
        }
        let Some(search) = &asked.search else {
            return Ok(true);
        };
        let search = search.to_lowercase();
        let has = |text: &str| text.to_lowercase().contains(&search);
        let step = state.run.position.as_ref().map_or("", |at| at.name());
        if has(&state.run.id) || has(&shown.stored.name.name) || has(step) {
            return Ok(true);
        }
        let has_value = |json: &str| has(&unescaped(json));
        let mut attributes = state.run.attributes.iter();
        if attributes.any(|(_, json)| has_value(json)) {
            return Ok(true);
        }
        Ok(match &state.run.input {
            Payload::Inline(text) => has_value(text),
            Payload::At(sequence) => {
                let stored = &shown.stored;
                match self.stored_value(stored.id, *sequence).await {
                    Ok(input) => has_value(&input),
                    Err(_) if self.is_being_removed(stored).await? => false,
                    Err(failure) => return Err(failure),
                }
            }
        })
    }
}

/// A JSON text whose strings stand there as what they mean: the same one may be written with and
/// without escapes.
fn unescaped(json: &str) -> Cow<'_, str> {
    if !json.contains('\\') {
        return Cow::Borrowed(json);
    }
    let mut text = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(begin) = rest.find('"') {
        let (before, string) = rest.split_at(begin);
        let Some(end) = end_of_string(string) else {
            break;
        };
        let (string, after) = string.split_at(end);
        text.push_str(before);
        match serde_json::from_str::<String>(string) {
            Ok(meant) if string.contains('\\') => {
                text.push('"');
                text.push_str(&meant);
                text.push('"');
            }
            Ok(_) | Err(_) => text.push_str(string),
        }
        rest = after;
    }
    text.push_str(rest);
    Cow::Owned(text)
}

/// Where a string ends with which a JSON text begins, behind its last quote.
fn end_of_string(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return Some(at + 1),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_has_one_of_three_operators() {
        for text in [
            "a=x",
            "a=",
            "a=x=y",
            "a= x",
            "my attribute=x",
            "n<5",
            "n>-5.5",
        ] {
            assert!(AttributeFilter::parse(text).is_some(), "{text}");
        }
        for text in [
            "", "a", "=x", "a==x", "a!=x", "a = x", "n=>4", "n=<4", "n>=4", "n<=4", "n<>4", "n<x",
        ] {
            assert!(AttributeFilter::parse(text).is_none(), "{text}");
        }
    }

    #[test]
    fn a_text_is_the_same_with_and_without_escapes() {
        for (json, meant) in [
            (
                r#"{"a": "\u00fc \/ b", "c": [1, "d"]}"#,
                r#"{"a": "ü / b", "c": [1, "d"]}"#,
            ),
            (
                r#"{"a": "say \"hi\"", "b": "\\"}"#,
                r#"{"a": "say "hi"", "b": "\"}"#,
            ),
            (r#"{"\u0061": "\ud83d\ude00"}"#, r#"{"a": "😀"}"#),
            // Half a character means nothing.
            (r#"["\ud83d", "\t"]"#, "[\"\\ud83d\", \"\t\"]"),
            (r#"{"a": "plain"}"#, r#"{"a": "plain"}"#),
            ("12", "12"),
        ] {
            assert_eq!(unescaped(json), meant);
        }
    }
}
