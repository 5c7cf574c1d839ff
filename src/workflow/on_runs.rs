//! Processors that start a run of a step workflow, or send signals to runs (`runs.md` §6).

use std::{borrow::Cow, sync::Arc};

use super::{
    Task,
    check::{Location, Problems},
    json::{ConfigJson, ProcessorJson, Raw},
};
use crate::expr::{self, Budget, Mapping, MappingError};
use crate::id::{DEFAULT_NAMESPACE, NAMESPACE_RULE, is_namespace};

/// What a processor does to runs, in the commit of its transition.
#[derive(Debug, Clone)]
pub enum OnRuns {
    Start(StartsRun),
    Signal(SignalsRuns),
}

/// Starts a run for the entity.
#[derive(Debug, Clone)]
pub struct StartsRun {
    pub definition: Arc<str>,
    /// None: the latest.
    pub version: Option<Box<str>>,
    pub namespace: Arc<str>,
    /// The input of the run; the entity and the transition if none.
    input: Option<Mapping>,
    key: Option<Key>,
}

/// Sends a signal to each run of the entity that has not ended.
#[derive(Debug, Clone)]
pub struct SignalsRuns {
    pub signal: Arc<str>,
    payload: Option<Mapping>,
}

#[derive(Debug, Clone)]
enum Key {
    Given(Box<str>),
    Path(Mapping),
}

/// The members of the entity and its transition that paths lead to.
const MEMBERS: [&str; 5] = [
    "entity.id",
    "entity.model",
    "entity.state",
    "entity.data",
    "transition",
];

/// The longest idempotency key, in characters.
const KEY_MAX: usize = 255;

impl OnRuns {
    /// Recorded instead of an execution mode.
    pub const fn mode(&self) -> &'static str {
        match self {
            Self::Start(_) => "RUN",
            Self::Signal(_) => "SIGNAL",
        }
    }
}

impl StartsRun {
    /// The input for an entity and its transition, at most so many bytes.
    pub fn input(&self, max: usize, scope: &str) -> Result<String, MappingError> {
        match &self.input {
            Some(mapping) => render(mapping, max, scope),
            None if scope.len() > max => Err(MappingError::TooLarge(max)),
            None => Ok(scope.to_owned()),
        }
    }

    /// The idempotency key; none if it is not configured, or if its path leads to nothing.
    pub fn key(&self, scope: &str) -> Result<Option<String>, MappingError> {
        let key = match &self.key {
            None => return Ok(None),
            Some(Key::Given(key)) => key.to_string(),
            Some(Key::Path(path)) => {
                // A character has at most twelve bytes in JSON.
                let value = render(path, KEY_MAX * 12 + 2, scope)?;
                if value == "null" {
                    return Ok(None);
                }
                expr::string(&value).unwrap_or(value)
            }
        };
        if key.chars().count() > KEY_MAX {
            return Err(MappingError::TooLarge(KEY_MAX));
        }
        Ok(Some(key).filter(|key| !key.is_empty()))
    }
}

impl SignalsRuns {
    /// What the signal carries.
    pub fn payload(&self, max: usize, scope: &str) -> Result<String, MappingError> {
        let payload = self.payload.as_ref();
        payload.map_or_else(
            || Ok("null".to_owned()),
            |payload| render(payload, max, scope),
        )
    }
}

fn render(mapping: &Mapping, max: usize, scope: &str) -> Result<String, MappingError> {
    mapping.render(max, &Budget::default(), &|_| Some(Cow::Borrowed(scope)))
}

pub(super) fn starts_run(json: &ProcessorJson) -> bool {
    json.kind.eq_ignore_ascii_case("run")
}

pub(super) fn signals_runs(json: &ProcessorJson) -> bool {
    json.kind.eq_ignore_ascii_case("signal")
}

pub(super) fn build_start(config: &ConfigJson, place: &Location, problems: &mut Problems) -> Task {
    let definition = config.definition.clone().unwrap_or_default();
    if definition.is_empty() {
        problems.add(
            place,
            "`config.definition` is missing; name the step workflow to start".to_owned(),
        );
    }
    let namespace = config
        .namespace
        .clone()
        .unwrap_or_else(|| DEFAULT_NAMESPACE.into());
    if !is_namespace(&namespace) {
        problems.add(
            place,
            format!("`config.namespace` is `{namespace}`; use {NAMESPACE_RULE}"),
        );
    }
    let input = mapping(&config.input_mapping, "inputMapping", true, place, problems);
    let key = config
        .idempotency_key
        .as_deref()
        .and_then(|text| key(text, place, problems));
    Task::OnRuns(Arc::new(OnRuns::Start(StartsRun {
        definition,
        version: config.version.as_deref().map(Into::into),
        namespace,
        input,
        key,
    })))
}

pub(super) fn build_signal(config: &ConfigJson, place: &Location, problems: &mut Problems) -> Task {
    let signal = config.signal.clone().unwrap_or_default();
    if signal.is_empty() || signal.starts_with('_') {
        problems.add(
            place,
            "`config.signal` is missing or begins with `_`; set the type of the signal".to_owned(),
        );
    }
    Task::OnRuns(Arc::new(OnRuns::Signal(SignalsRuns {
        signal,
        payload: mapping(&config.payload, "payload", false, place, problems),
    })))
}

fn key(text: &str, place: &Location, problems: &mut Problems) -> Option<Key> {
    if text.is_empty() {
        return None;
    }
    if !text.starts_with("$.") {
        if text.chars().count() > KEY_MAX {
            problems.add(
                place,
                format!("`config.idempotencyKey` has more than {KEY_MAX} characters; shorten it"),
            );
        }
        return Some(Key::Given(text.into()));
    }
    parsed(&expr::quoted(text), "idempotencyKey", place, problems).map(Key::Path)
}

/// A mapping as JSON or, if it may be, as a text of JSON, which documents of step workflows use.
fn mapping(
    raw: &Raw,
    member: &str,
    may_be_text: bool,
    place: &Location,
    problems: &mut Problems,
) -> Option<Mapping> {
    let given = raw.as_ref()?.get();
    let text = expr::string(given).filter(|text| may_be_text && !text.starts_with("$."));
    parsed(text.as_deref().unwrap_or(given), member, place, problems)
}

fn parsed(text: &str, member: &str, place: &Location, problems: &mut Problems) -> Option<Mapping> {
    let parsed = Mapping::parse_among(text, &MEMBERS);
    parsed
        .inspect_err(|error| problems.add(place, format!("`config.{member}`: {error}")))
        .ok()
}
