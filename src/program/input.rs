//! The values of a run: inputs, outputs and search attributes (`orchestration.md` 1.9, 1.13).

use std::{borrow::Cow, sync::Arc};

use super::{
    form::{AttributeType, Mapping, SearchAttribute},
    form::{Name, START, START_IN_PATHS},
    machine::Machine,
    run::{Payload, Run, StepResult},
};
use crate::clock::Timestamp;
use crate::expr::{self, Budget, MappingError, Path, Root};

/// How many search attributes a document has at most.
pub const ATTRIBUTES_MAX: usize = 64;

/// How many bytes the value of one of them, and those of all together, have at most, as JSON: they
/// are part of the state, which is written with each commit of the run.
const ATTRIBUTE_BYTES_MAX: usize = 1 << 10;
const ATTRIBUTES_BYTES_MAX: usize = 16 << 10;

/// The search attributes of a run as of a moment.
pub(super) struct Attributes {
    pub(super) values: Vec<(Name, Box<str>)>,
    /// What has no value because it is too large.
    pub(super) left_out: Option<Box<str>>,
}

/// The input of a step.
#[derive(Debug, Clone)]
pub(super) enum Input {
    /// That of the run, which is not copied.
    Whole,
    Mapped(Arc<str>),
}

/// Something that may need values that only the history has.
pub(super) enum Prepared<T> {
    Ready(T),
    /// The numbers of the events.
    Load(Vec<u64>),
}

impl Run {
    fn result(&self, name: &str) -> Option<&StepResult> {
        let entry = || (name == START).then(|| self.results.get(START_IN_PATHS))?;
        self.results.get(name).or_else(entry)
    }

    fn place(&self, root: &Root) -> Option<&Payload> {
        match root {
            Root::Input => Some(&self.input),
            Root::Output(name) => self.result(name).map(|result| &result.output),
            Root::Outcome(_) | Root::RunId | Root::Timestamp => None,
        }
    }

    pub(super) fn text<'a>(&'a self, payload: &'a Payload) -> Option<&'a str> {
        match payload {
            Payload::Inline(text) => Some(text),
            Payload::At(at) => self.loaded.get(at).map(|text| &**text),
        }
    }

    fn value(&self, root: &Root, now: Timestamp) -> Option<Cow<'_, str>> {
        match root {
            Root::Input | Root::Output(_) => {
                let text = self.place(root).and_then(|payload| self.text(payload));
                text.map(Cow::Borrowed)
            }
            Root::Outcome(name) => {
                let outcome = &self.result(name)?.outcome;
                Some(Cow::Owned(expr::quoted(outcome)))
            }
            Root::RunId => Some(Cow::Owned(expr::quoted(&self.id))),
            Root::Timestamp => Some(Cow::Owned(now.millis().to_string())),
        }
    }

    /// The numbers of the events whose values these roots need and that are not loaded.
    fn missing<'a>(&self, roots: impl IntoIterator<Item = &'a Root>) -> Vec<u64> {
        let payloads = roots.into_iter().filter_map(|root| self.place(root));
        let mut missing: Vec<u64> = payloads.filter_map(|payload| self.lacks(payload)).collect();
        missing.sort_unstable();
        missing.dedup();
        missing
    }

    /// The number of the event whose value has to be loaded, if it has.
    pub(super) fn lacks(&self, payload: &Payload) -> Option<u64> {
        match payload {
            Payload::At(at) if !self.loaded.contains_key(at) => Some(*at),
            Payload::At(_) | Payload::Inline(_) => None,
        }
    }

    /// The search attributes as of now; what has no value, one of another type or one that is too
    /// large, is null.
    pub(super) fn attributes(
        &self,
        of: &[SearchAttribute],
        now: Timestamp,
    ) -> Prepared<Attributes> {
        // An earlier version of this program accepted more.
        let kept = &of[..of.len().min(ATTRIBUTES_MAX)];
        let paths: Vec<Option<Path>> = kept
            .iter()
            .map(|attribute| Path::parse_bare(&attribute.from).ok())
            .collect();
        let missing = self.missing(paths.iter().flatten().map(|path| &path.root));
        if !missing.is_empty() {
            return Prepared::Load(missing);
        }
        let mut left_out = (kept.len() < of.len()).then(|| {
            let count = of.len();
            format!("the document has {count} search attributes; at most {ATTRIBUTES_MAX} are kept")
        });
        let mut bytes = 0;
        let values = kept.iter().zip(paths).map(|(attribute, path)| {
            let value = path.map_or(Ok(None), |path| self.attribute(&path, attribute.kind, now));
            let value = value.and_then(|value| {
                bytes += value.as_ref().map_or(0, String::len);
                if bytes > ATTRIBUTES_BYTES_MAX {
                    return Err(format!(
                        "is too large: all together have at most {ATTRIBUTES_BYTES_MAX} bytes"
                    ));
                }
                Ok(value)
            });
            let value = value.unwrap_or_else(|why| {
                left_out.get_or_insert_with(|| {
                    format!("the search attribute \"{}\" {why}", attribute.name)
                });
                None
            });
            let value = value.unwrap_or_else(|| "null".to_owned());
            (attribute.name.clone(), value.into())
        });
        Prepared::Ready(Attributes {
            values: values.collect(),
            left_out: left_out.map(Into::into),
        })
    }

    /// The value of a search attribute, or why it is too large. Such a value is not copied.
    fn attribute(
        &self,
        path: &Path,
        kind: AttributeType,
        now: Timestamp,
    ) -> Result<Option<String>, String> {
        let Some(root) = self.value(&path.root, now) else {
            return Ok(None);
        };
        match path.within(&root, &self.budget) {
            Some(json) if json.len() > ATTRIBUTE_BYTES_MAX => Err(format!(
                "has {} bytes; at most {ATTRIBUTE_BYTES_MAX} are kept",
                json.len()
            )),
            json => Ok(json.and_then(|json| coerced(json, kind))),
        }
    }
}

/// A JSON value as one of the type.
fn coerced(json: &str, kind: AttributeType) -> Option<String> {
    let text = expr::string(json);
    let is_number = |text: &str| {
        text.parse::<f64>().is_ok_and(f64::is_finite)
            && serde_json::from_str::<serde_json::Number>(text).is_ok()
    };
    match kind {
        AttributeType::Text => match text {
            Some(_) => Some(json.to_owned()),
            None => (json != "null").then(|| expr::quoted(json)),
        },
        AttributeType::Number => {
            let number = text.unwrap_or_else(|| json.to_owned());
            is_number(&number).then_some(number)
        }
        AttributeType::Timestamp => match text {
            Some(text) => {
                let at = Timestamp::parse(&text).ok()?;
                Some(at.millis().to_string())
            }
            None => json.parse::<i64>().is_ok().then(|| json.to_owned()),
        },
    }
}

impl Machine<'_> {
    /// The text of a mapping with its values; `path` allows a path alone, as outputs do.
    pub(super) fn mapped(
        &self,
        mapping: &Mapping,
        path: bool,
    ) -> Result<Prepared<String>, MappingError> {
        let parsed = match mapping {
            Mapping::Text(text) if path => expr::Mapping::parse_path_or_json(text),
            Mapping::Text(text) | Mapping::Value(text) => expr::Mapping::parse(text),
        }?;
        let missing = self.run.missing(parsed.roots());
        if !missing.is_empty() {
            return Ok(Prepared::Load(missing));
        }
        let max = self.world.limits.payload_max;
        let value = |root: &Root| self.run.value(root, self.world.now);
        let rendered = parsed.render(max, &self.run.budget, &value)?;
        Ok(Prepared::Ready(rendered))
    }

    /// The text of an input, which has been loaded.
    pub(super) fn input_text(&self, input: &Input) -> Arc<str> {
        match input {
            Input::Mapped(text) => Arc::clone(text),
            Input::Whole => self.run.text(&self.run.input).unwrap_or("null").into(),
        }
    }
}

/// The key of a plan's cache, a template with placeholders such as `{input.customer}` (1.7.6);
/// none if one of them has no value.
pub(super) fn cache_key(
    template: &str,
    input: &str,
    run_input: &str,
    budget: &Budget,
) -> Option<Box<str>> {
    let mut key = String::new();
    let mut rest = template;
    while let Some((text, after)) = rest.split_once('{') {
        let (placeholder, after) = after.split_once('}')?;
        let path = Path::parse_bare(placeholder).ok()?;
        if path.root != Root::Input {
            return None;
        }
        let value = path.within(input, budget);
        let value = value.or_else(|| path.within(run_input, budget))?;
        key.push_str(text);
        key.push_str(&expr::string(value).unwrap_or_else(|| value.to_owned()));
        rest = after;
    }
    key.push_str(rest);
    Some(key.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_coerced_to_the_type_of_their_attribute() {
        for (json, kind, expected) in [
            ("\"x\"", AttributeType::Text, Some("\"x\"")),
            ("1.50", AttributeType::Text, Some("\"1.50\"")),
            ("null", AttributeType::Text, None),
            ("1.50", AttributeType::Number, Some("1.50")),
            ("\"7\"", AttributeType::Number, Some("7")),
            ("\"x\"", AttributeType::Number, None),
            ("\"NaN\"", AttributeType::Number, None),
            ("true", AttributeType::Number, None),
            ("1000", AttributeType::Timestamp, Some("1000")),
            (
                "\"1970-01-01T00:00:01Z\"",
                AttributeType::Timestamp,
                Some("1000"),
            ),
            ("\"later\"", AttributeType::Timestamp, None),
            ("1.5", AttributeType::Timestamp, None),
        ] {
            assert_eq!(coerced(json, kind).as_deref(), expected, "{json} {kind:?}");
        }
    }

    #[test]
    fn the_key_of_a_cache_takes_the_input_of_the_step_before_that_of_the_run() {
        let run = r#"{"customer":"c","key":7}"#;
        for (template, input, expected) in [
            (
                "charge:{input.customer}:{input.key}",
                r#"{"customer":"d"}"#,
                Some("charge:d:7"),
            ),
            ("all", "{}", Some("all")),
            ("{input.none}", "{}", None),
            ("{steps.a.output}", "{}", None),
            ("{input.customer", "{}", None),
        ] {
            assert_eq!(
                cache_key(template, input, run, &Budget::default()).as_deref(),
                expected,
                "{template}"
            );
        }
    }
}
