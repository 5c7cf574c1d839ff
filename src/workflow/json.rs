//! The documented JSON form of a workflow (`workflow-engine.md` §1 and §5).

use std::{collections::BTreeMap, fmt, sync::Arc};

use schemars::JsonSchema;
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{self, MapAccess, Visitor},
};
use serde_json::value::RawValue;

use super::{
    Definition, Error, Workflow,
    build::{build, is_timer},
    check::{Location, Problems},
    on_runs::{signals_runs, starts_run},
    place::unreadable,
};
use crate::compat::Compat;
use crate::condition::Form;
use crate::dispatch::RetryPolicy;
use crate::entity::{Document, Json};
use crate::json;

/// A parsed definition with its warnings.
#[derive(Debug, Clone)]
pub struct Parsed {
    pub workflow: Workflow,
    /// The given value of `active`; the import decides how to use it.
    pub active: Option<bool>,
    pub warnings: Vec<String>,
}

/// A stored definition that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("a stored workflow is not readable")]
pub struct DefinitionError(#[from] serde_json::Error);

/// The largest annotation, in bytes of compact JSON.
const ANNOTATION_MAX: usize = 65_536;

/// The default of `config.attachEntity`.
const ATTACH_ENTITY: bool = true;

pub(super) type Raw = Option<Box<RawValue>>;

/// A state machine for the entities of a model.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Workflow")]
pub struct WorkflowJson {
    /// The schema version, like `1.1`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) version: Option<Arc<str>>,
    /// Unique among the workflows of the model.
    #[schemars(!default, length(min = 1, max = 256))]
    #[serde(default)]
    pub(super) name: Arc<str>,
    /// A description.
    #[serde(default, skip_serializing_if = "left_out::is_blank")]
    pub(super) desc: Option<Arc<str>>,
    /// The state of new entities.
    #[schemars(!default, length(min = 1, max = 256))]
    #[serde(default)]
    pub(super) initial_state: Arc<str>,
    /// Whether the workflow is selected for new entities; true if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) active: Option<bool>,
    /// The entities it is selected for; all if absent.
    #[schemars(with = "Option<Form>")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) criterion: Raw,
    /// The state machine of a bundle that the workflow is made from: criteria with the name `cel`
    /// are its guards, and processors with the tag of a connector its actions, so that no member
    /// is called for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) machine: Option<MachineJson>,
    /// The states by name.
    #[schemars(!default)]
    #[serde(default, deserialize_with = "each_once")]
    pub(super) states: BTreeMap<Arc<str>, StateJson>,
    /// Any JSON object; stored and exported unchanged.
    #[schemars(with = "Option<serde_json::Map<String, serde_json::Value>>")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) annotations: Raw,
    /// Any JSON object; stored and exported unchanged.
    #[schemars(with = "Option<serde_json::Map<String, serde_json::Value>>")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) criterion_annotations: Raw,
}

/// A state machine of a bundle.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "WorkflowMachine")]
pub(super) struct MachineJson {
    pub(super) name: Arc<str>,
    /// The namespace of its bundle.
    pub(super) namespace: Arc<str>,
}

/// A state and its transitions; a state without transitions is final.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "State")]
pub(super) struct StateJson {
    /// The transitions out of the state.
    #[serde(
        default,
        deserialize_with = "or_absent",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub(super) transitions: Vec<TransitionJson>,
    /// Any JSON object; stored and exported unchanged.
    #[schemars(with = "Option<serde_json::Map<String, serde_json::Value>>")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) annotations: Raw,
}

/// A transition from one state to another. Automated transitions are tried in order.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Transition")]
pub(super) struct TransitionJson {
    /// Unique in the state.
    #[schemars(!default, length(min = 1, max = 256))]
    #[serde(default)]
    pub(super) name: Arc<str>,
    /// The target state.
    #[schemars(!default, length(min = 1, max = 256))]
    #[serde(default)]
    pub(super) next: Arc<str>,
    /// Whether it is taken on request only; otherwise it is automated.
    #[schemars(with = "bool", !default)]
    #[serde(default)]
    pub(super) manual: Option<bool>,
    /// Whether it is never taken.
    #[serde(default, skip_serializing_if = "left_out::is_false")]
    pub(super) disabled: Option<bool>,
    /// The condition under which it may be taken; always if absent.
    #[schemars(with = "Option<Form>")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) criterion: Raw,
    /// The processors that run when it is taken, in order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) processors: Option<Vec<ProcessorJson>>,
    /// Takes the transition after some time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) schedule: Option<ScheduleJson>,
    /// Any JSON object; stored and exported unchanged.
    #[schemars(with = "Option<serde_json::Map<String, serde_json::Value>>")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) annotations: Raw,
    /// Any JSON object; stored and exported unchanged.
    #[schemars(with = "Option<serde_json::Map<String, serde_json::Value>>")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) criterion_annotations: Raw,
}

/// A call to a compute member when the transition is taken, or a timer.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Processor")]
pub(super) struct ProcessorJson {
    /// `EXTERNAL` calls a member, `scheduled` takes a transition later, `run` starts a run of a
    /// step workflow and `signal` sends a signal to the runs of the entity.
    #[serde(default, rename = "type", deserialize_with = "or_absent")]
    pub(super) kind: Arc<str>,
    /// The name that members register.
    #[schemars(!default, length(min = 1, max = 256))]
    #[serde(default)]
    pub(super) name: Arc<str>,
    /// `SYNC`, `ASYNC_SAME_TX`, `ASYNC_NEW_TX` or `COMMIT_BEFORE_DISPATCH`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) execution_mode: Option<Arc<str>>,
    /// Whether the member may write in a new transaction (`COMMIT_BEFORE_DISPATCH` only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) start_new_tx_on_dispatch: Option<bool>,
    /// How the member is called.
    #[serde(default, deserialize_with = "or_absent")]
    pub(super) config: ConfigJson,
    /// Any JSON object; stored and exported unchanged.
    #[schemars(with = "Option<serde_json::Map<String, serde_json::Value>>")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) annotations: Raw,
}

/// How a processor is called.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ProcessorConfig")]
pub(super) struct ConfigJson {
    /// Whether the call contains the document; true if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) attach_entity: Option<bool>,
    /// The tags that the member must have, separated by commas.
    #[serde(default, skip_serializing_if = "left_out::is_blank")]
    pub(super) calculation_nodes_tags: Option<Arc<str>>,
    /// Time limit of one attempt in milliseconds; the server's default if absent.
    #[serde(default, skip_serializing_if = "left_out::is_zero")]
    pub(super) response_timeout_ms: Option<i64>,
    /// `NONE`, or `FIXED`: up to three more attempts after a retryable failure.
    #[serde(default, skip_serializing_if = "left_out::is_blank")]
    pub(super) retry_policy: Option<Arc<str>>,
    /// Sent to the member unchanged.
    #[serde(default, skip_serializing_if = "left_out::is_blank")]
    pub(super) context: Option<Arc<str>>,
    /// Whether the member may write in a new transaction (`COMMIT_BEFORE_DISPATCH` only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) start_new_tx_on_dispatch: Option<bool>,
    /// Wait for `crossoverToAsyncMs` only, then commit and continue asynchronously.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) async_result: Option<bool>,
    /// How long to wait with `asyncResult`, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) crossover_to_async_ms: Option<i64>,
    /// For timers: the delay in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) delay_ms: Option<i64>,
    /// For timers: the transition to take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) transition: Option<Arc<str>>,
    /// For timers: how late it may fire, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) timeout_ms: Option<i64>,
    /// For `run`: the step workflow of which a run is started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) definition: Option<Arc<str>>,
    /// For `run`: the version of the definition; the latest if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) version: Option<Arc<str>>,
    /// For `run`: the namespace of the definition; `default` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) namespace: Option<Arc<str>>,
    /// For `run`: the input, in which texts such as `$.entity.data.total` stand for values.
    #[schemars(with = "Option<serde_json::Value>")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) input_mapping: Raw,
    /// For `run`: a key or a path to one; `<entityId>:<transition>:<transactionId>` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) idempotency_key: Option<Arc<str>>,
    /// For `signal`: the type of the signal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) signal: Option<Arc<str>>,
    /// For `signal`: what it carries, with the paths of `inputMapping`.
    #[schemars(with = "Option<serde_json::Value>")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) payload: Raw,
}

/// Takes the transition after some time in the state.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Schedule")]
pub(super) struct ScheduleJson {
    /// The delay in milliseconds; 0 with a function.
    #[serde(default, deserialize_with = "or_absent")]
    pub(super) delay_ms: i64,
    /// How late it may fire, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) timeout_ms: Option<i64>,
    /// Computes the time, instead of `delayMs`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) function: Option<ScheduleFunctionJson>,
}

/// A function of a compute member that computes the time.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ScheduleFunction")]
pub(super) struct ScheduleFunctionJson {
    #[serde(default)]
    pub(super) name: Arc<str>,
    #[serde(default)]
    pub(super) result_kind: Arc<str>,
    #[serde(default)]
    pub(super) calculation_nodes_tags: Arc<str>,
    #[serde(default)]
    pub(super) attach_entity: Option<bool>,
    #[serde(default, skip_serializing_if = "left_out::is_blank")]
    pub(super) context: Option<Arc<str>>,
    #[serde(default, skip_serializing_if = "left_out::is_zero")]
    pub(super) response_timeout_ms: Option<i64>,
}

/// A member for which null means absent.
fn or_absent<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// States by name, of which each is defined once: of two, one would be lost.
fn each_once<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<Arc<str>, StateJson>, D::Error> {
    struct States;

    impl<'de> Visitor<'de> for States {
        type Value = BTreeMap<Arc<str>, StateJson>;

        fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
            to.write_str("an object of states")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut states = BTreeMap::new();
            while let Some((name, state)) = map.next_entry::<Arc<str>, Option<StateJson>>()? {
                let state = state.unwrap_or_default();
                if states.insert(Arc::clone(&name), state).is_some() {
                    return Err(de::Error::custom(format!(
                        "the state `{name}` is defined twice"
                    )));
                }
            }
            Ok(states)
        }
    }

    deserializer.deserialize_map(States)
}

/// What an export omits. The signatures are required by serde.
#[expect(clippy::ref_option, reason = "serde gives a reference to the member")]
mod left_out {
    use std::sync::Arc;

    pub(super) fn is_blank(text: &Option<Arc<str>>) -> bool {
        text.as_deref().is_none_or(str::is_empty)
    }

    pub(super) fn is_zero(number: &Option<i64>) -> bool {
        number.is_none_or(|number| number == 0)
    }

    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde gives a reference to the member"
    )]
    pub(super) fn is_false(truth: &Option<bool>) -> bool {
        *truth != Some(true)
    }
}

impl Workflow {
    /// Parses one definition, and reports every error in it.
    pub fn parse(text: &str) -> Result<Parsed, Error> {
        Self::import(text, Compat::default())
    }

    /// Parses one definition under a compatibility profile, and reports every error in it.
    pub fn import(text: &str, compat: Compat) -> Result<Parsed, Error> {
        let (mut json, mut unknown): (WorkflowJson, _) =
            json::read_noting(text).map_err(|error| unreadable(text, &error))?;
        unknown.extend(json.take_strays());
        let place = Location::workflow(&json.name);
        let mut problems = Problems::new(compat);
        for member in unknown {
            if compat.unknown_members_are_refused() {
                return Err(Error::Json(format!("unknown member `{member}`")));
            }
            problems.warn(&place, &format!("unknown member `{member}` is ignored"));
        }
        json.version_counts(&place, compat)?;
        let counts = json.states.iter();
        let counts = counts.map(|(name, state)| (place.state(name), state.transitions.len()));
        if !counts.fold(true, |few, (place, count)| {
            problems.transitions(&place, count) && few
        }) {
            problems.none_or_err()?;
        }
        json.tidy(&place, &mut problems);
        json.read(&place, problems)
    }

    /// Parses a stored definition, imported under any profile.
    pub fn load(text: &str) -> Result<Self, Error> {
        let json: WorkflowJson =
            serde_json::from_str(text).map_err(|error| Error::Json(error.to_string()))?;
        let place = Location::workflow(&json.name);
        let parsed = json.read(&place, Problems::of_stored())?;
        Ok(parsed.workflow)
    }
}

/// The execution modes; an empty one means the default.
const MODES: [&str; 5] = [
    "",
    "SYNC",
    "ASYNC_SAME_TX",
    "ASYNC_NEW_TX",
    "COMMIT_BEFORE_DISPATCH",
];

/// The schema versions that cyoda 0.8 supports; it exports the last one.
const SCHEMA_VERSIONS: [&str; 3] = ["1.1", "1.2", "1.3"];

impl WorkflowJson {
    fn read(mut self, place: &Location, mut problems: Problems) -> Result<Parsed, Error> {
        let active = self.active.take();
        let workflow = build(self, place, &mut problems)?;
        problems.none_or_err()?;
        Ok(Parsed {
            workflow,
            active,
            warnings: problems.warnings,
        })
    }

    /// Removes settings of runs from processors of other types, for which they are unknown.
    fn take_strays(&mut self) -> Vec<String> {
        let mut strays = Vec::new();
        for (name, state) in &mut self.states {
            for (transition, json) in state.transitions.iter_mut().enumerate() {
                for (at, processor) in json.processors.iter_mut().flatten().enumerate() {
                    let place =
                        format!("states.{name}.transitions.{transition}.processors.{at}.config");
                    let taken = processor.take_strays();
                    strays.extend(taken.map(|member| format!("{place}.{member}")));
                }
            }
        }
        strays
    }

    /// `workflow-engine.md` §4.3.
    fn version_counts(&self, place: &Location, compat: Compat) -> Result<(), Error> {
        let version = self.version.as_deref().unwrap_or_default();
        if compat.schema_version_counts() && !SCHEMA_VERSIONS.contains(&version) {
            return Err(Error::Version {
                place: Box::new(place.clone()),
                given: version.to_owned(),
                why: strangeness(version),
                known: SCHEMA_VERSIONS.join(", "),
            });
        }
        Ok(())
    }
}

/// Why a version is not one of [`SCHEMA_VERSIONS`].
fn strangeness(version: &str) -> String {
    let is_number = |part: &str| {
        let digits = part.bytes().all(|byte| byte.is_ascii_digit());
        digits && !part.is_empty() && (part == "0" || !part.starts_with('0'))
    };
    match version.split_once('.') {
        Some((major, minor)) if is_number(major) && is_number(minor) => {
            if major == "1" {
                let side = if minor == "0" { "below" } else { "above" };
                format!("the minor version {minor} is {side} the supported ones")
            } else {
                format!("the major version {major} is not supported")
            }
        }
        _ => {
            "it is not of the form MAJOR.MINOR, two numbers without leading zeros and a dot between them".to_owned()
        }
    }
}

impl Definition {
    /// The documented form, as exported.
    pub fn export(&self, active: bool, compat: Compat) -> Result<Json, DefinitionError> {
        let mut json: WorkflowJson = serde_json::from_str(self.body.as_str())?;
        json.active = Some(active);
        if compat.schema_version_counts() {
            json.version = SCHEMA_VERSIONS.last().map(|version| (*version).into());
        }
        Ok(Json::trusted(serde_json::to_string(&json)?))
    }
}

impl WorkflowJson {
    /// Removes empty members and brings those that are stored as given into canonical form.
    fn tidy(&mut self, place: &Location, problems: &mut Problems) {
        criterion(&mut self.criterion);
        annotations(&mut self.annotations, "annotations", place, problems);
        annotations(
            &mut self.criterion_annotations,
            "criterionAnnotations",
            place,
            problems,
        );
        for (name, state) in &mut self.states {
            let place = place.state(name);
            annotations(&mut state.annotations, "annotations", &place, problems);
            for transition in &mut state.transitions {
                let place = place.transition(&transition.name);
                transition.tidy(&place, problems);
            }
        }
    }
}

impl ProcessorJson {
    /// Removes settings that are for other types of processors; returns their names.
    fn take_strays(&mut self) -> impl Iterator<Item = &'static str> + use<> {
        let (starts, signals) = (starts_run(self), signals_runs(self));
        let config = &mut self.config;
        let taken = [
            ("definition", !starts && config.definition.take().is_some()),
            ("version", !starts && config.version.take().is_some()),
            ("namespace", !starts && config.namespace.take().is_some()),
            (
                "inputMapping",
                !starts && config.input_mapping.take().is_some(),
            ),
            (
                "idempotencyKey",
                !starts && config.idempotency_key.take().is_some(),
            ),
            ("signal", !signals && config.signal.take().is_some()),
            ("payload", !signals && config.payload.take().is_some()),
        ];
        taken
            .into_iter()
            .filter_map(|(name, is_taken)| is_taken.then_some(name))
    }
}

impl TransitionJson {
    fn tidy(&mut self, place: &Location, problems: &mut Problems) {
        if problems.compat.manual_may_be_absent() {
            self.manual.get_or_insert(false);
        }
        criterion(&mut self.criterion);
        annotations(&mut self.annotations, "annotations", place, problems);
        annotations(
            &mut self.criterion_annotations,
            "criterionAnnotations",
            place,
            problems,
        );
        self.processors.take_if(|processors| processors.is_empty());
        if let Some(function) = self.schedule.as_mut().and_then(|it| it.function.as_mut()) {
            function.attach_entity.get_or_insert(ATTACH_ENTITY);
        }
        for processor in self.processors.iter_mut().flatten() {
            let place = place.processor(&processor.name);
            annotations(&mut processor.annotations, "annotations", &place, problems);
            if starts_run(processor) || signals_runs(processor) {
                compact(&mut processor.config.input_mapping);
                compact(&mut processor.config.payload);
                continue;
            }
            if processor.execution_mode.is_none() && problems.compat.absent_mode_is_sync() {
                processor.execution_mode = Some("SYNC".into());
            }
            known_mode(processor, &place, problems);
            known_config(&processor.config, &place, problems);
            if !is_timer(processor) {
                processor.config.attach_entity.get_or_insert(ATTACH_ENTITY);
            }
        }
    }
}

/// Rejects an unknown mode, in profiles that do.
fn known_mode(processor: &ProcessorJson, place: &Location, problems: &mut Problems) {
    let mode = processor.execution_mode.as_deref().unwrap_or_default();
    if problems.compat.unknown_mode_is_refused() && !MODES.contains(&mode) {
        let known = MODES[1..].join(", ");
        problems.add(
            place,
            format!("`executionMode` is `{mode}`; use one of {known}"),
        );
    }
}

/// Rejects unsupported configuration, in profiles that do (`workflow-engine.md` §4.5).
fn known_config(config: &ConfigJson, place: &Location, problems: &mut Problems) {
    if problems.compat.async_results_are_refused() {
        let refused = if config.async_result == Some(true) {
            Some("asyncResult=true")
        } else {
            config.crossover_to_async_ms.map(|_| "crossoverToAsyncMs")
        };
        if let Some(refused) = refused {
            problems.add(
                place,
                format!("{refused} is not supported by this profile (INTERLOCK_COMPAT); remove it"),
            );
        }
    }
    let policy = config.retry_policy.as_deref().unwrap_or_default();
    if problems.compat.unknown_retry_policy_is_refused() && RetryPolicy::from_name(policy).is_none()
    {
        problems.add(
            place,
            format!("`retryPolicy` is `{policy}`; use NONE or FIXED, or remove it"),
        );
    }
}

/// An absent criterion, `null` and `{}` are the same (`workflow-engine.md` §2.1).
fn criterion(raw: &mut Raw) {
    compact(raw);
    raw.take_if(|raw| matches!(raw.get(), "null" | "{}"));
}

fn annotations(raw: &mut Raw, member: &str, place: &Location, problems: &mut Problems) {
    compact(raw);
    raw.take_if(|raw| raw.get() == "null");
    if let Some(raw) = raw {
        if !raw.get().starts_with('{') {
            problems.add(
                place,
                format!("`{member}` is not an object; make it one, or remove it"),
            );
        } else if raw.get().len() > ANNOTATION_MAX {
            problems.add(
                place,
                format!(
                    "`{member}` has {} bytes; shorten it to {ANNOTATION_MAX}",
                    raw.get().len()
                ),
            );
        }
    }
}

/// Text that is not a valid document (duplicate members, deep nesting) is left unchanged; the
/// parser reports it.
fn compact(raw: &mut Raw) {
    let compacted = raw.as_ref().and_then(|raw| Document::from_raw(raw).ok());
    if let Some(document) = compacted {
        *raw = RawValue::from_string(document.json().as_str().to_owned()).ok();
    }
}

#[cfg(test)]
mod tests {
    use proptest::{option, prelude::*, sample::select};
    use serde_json::{Map, Value, json};

    use super::*;

    /// An object of the present members.
    fn object(members: Vec<(&str, Option<Value>)>) -> Value {
        let there = members
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value?)));
        Value::Object(there.collect::<Map<_, _>>())
    }

    #[test]
    fn a_state_is_defined_once() {
        let read = |states: &str| {
            let text = format!(r#"{{"name": "w", "initialState": "A", "states": {{{states}}}}}"#);
            serde_json::from_str::<WorkflowJson>(&text).map(|json| json.states.len())
        };
        assert_eq!(read(r#""A": {}, "B": {}"#).expect("valid"), 2);
        let error = read(r#""A": {}, "B": {}, "A": {}"#).expect_err("twice");
        assert!(
            error.to_string().contains("`A` is defined twice"),
            "{error}"
        );
    }

    #[test]
    fn null_means_absent() {
        let body = |state: &str| {
            let text =
                format!(r#"{{"name":"w","initialState":"A","states":{{"A":{state},"B":{{}}}}}}"#);
            let parsed = Workflow::parse(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
            parsed.workflow.definition.body.as_str().to_owned()
        };
        let way = |members: &str| {
            body(&format!(
                r#"{{"transitions":[{{"name":"t","next":"B","manual":false{members}}}]}}"#
            ))
        };
        for (null, absent) in [
            (body("null"), body("{}")),
            (
                body(r#"{"transitions":null,"annotations":null}"#),
                body("{}"),
            ),
            (
                way(r#","disabled":null,"criterion":null,"processors":null,"schedule":null"#),
                way(""),
            ),
            (
                way(
                    r#","processors":[{"name":"p","type":null,"executionMode":null,"config":null}]"#,
                ),
                way(r#","processors":[{"name":"p"}]"#),
            ),
            (
                way(
                    r#","schedule":{"delayMs":null,"timeoutMs":null,"function":{"name":"f","resultKind":"Schedule",
                        "calculationNodesTags":"t","attachEntity":null,"context":null,"responseTimeoutMs":null}}"#,
                ),
                way(
                    r#","schedule":{"function":{"name":"f","resultKind":"Schedule","calculationNodesTags":"t"}}"#,
                ),
            ),
        ] {
            assert_eq!(null, absent);
        }
        way(r#","criterion":{"type":"group","operator":"AND","conditions":null}"#);
    }

    #[test]
    fn a_pattern_that_an_earlier_version_accepted_keeps_its_workflow_readable() {
        let text = r#"{"name":"w","initialState":"A","criterion":{"type":"simple","jsonPath":"$.a",
            "operatorType":"MATCHES_PATTERN","value":"[a--b]"},"states":{"A":{}}}"#;
        Workflow::parse(text).expect_err("not RE2");
        Workflow::load(text).expect("it was imported before");
    }

    #[test]
    fn a_schedule_with_a_negative_timeout_has_none() {
        let text = |timeout: &str| {
            format!(
                r#"{{"name":"w","initialState":"A","states":{{"A":{{"transitions":[{{"name":"t","next":"B",
                    "manual":false,"schedule":{{"delayMs":5{timeout}}}}}]}},"B":{{}}}}}}"#
            )
        };
        let parse = |timeout: &str| Workflow::parse(&text(timeout)).expect("valid");
        let (negative, none) = (parse(r#","timeoutMs":-1"#), parse(""));
        assert_eq!(
            format!("{:?}", negative.workflow.states),
            format!("{:?}", none.workflow.states)
        );
        assert_eq!((negative.warnings.len(), none.warnings.len()), (1, 0));
    }

    fn name() -> impl Strategy<Value = String> {
        prop_oneof!["[a-z]{1,8}", "(?s).{1,40}", "[ -~]{1,12}"]
    }

    fn maybe(values: Vec<Value>) -> impl Strategy<Value = Option<Value>> {
        option::of(select(values))
    }

    fn annotations() -> impl Strategy<Value = Option<Value>> {
        maybe(vec![
            json!(null),
            json!({}),
            json!({"b": [1, 2.50, {"a": "ü\n"}], "a": "\"}{"}),
        ])
    }

    fn criterion() -> impl Strategy<Value = Option<Value>> {
        maybe(vec![
            json!(null),
            json!({}),
            json!({"type": "simple", "jsonPath": "$.a", "operation": "EQUALS", "value": 1.50}),
            json!({"type": "lifecycle", "field": "state", "operatorType": "NOT_NULL"}),
            json!({"type": "array", "jsonPath": "$.a", "values": [1, null]}),
            json!({"type": "function", "function": {"name": "f", "config": {"attachEntity": false}}}),
            json!({"type": "group", "operator": "not", "conditions": [
                {"type": "simple", "jsonPath": "$['a b']", "operatorType": "LIKE", "value": "%\\_"}]}),
        ])
    }

    fn processor() -> impl Strategy<Value = Value> {
        let timer = (name(), 0..5000_i64, annotations()).prop_map(|(name, delay, annotations)| {
            object(vec![
                ("name", Some(json!(name))),
                ("type", Some(json!("scheduled"))),
                (
                    "config",
                    Some(json!({"delayMs": delay, "transition": name, "timeoutMs": 5})),
                ),
                ("annotations", annotations),
            ])
        });
        let config = (
            maybe(vec![json!(true), json!(false)]),
            maybe(vec![json!(""), json!("a,B")]),
            maybe(vec![json!(0), json!(250), json!(-1)]),
            maybe(vec![json!(""), json!("FIXED"), json!("ODD")]),
            maybe(vec![json!(""), json!("{\"k\":1}")]),
            maybe(vec![json!(true), json!(false)]),
            maybe(vec![json!(0), json!(300)]),
        )
            .prop_map(
                |(attach, tags, timeout, retry, context, later, crossover)| {
                    object(vec![
                        ("attachEntity", attach),
                        ("calculationNodesTags", tags),
                        ("responseTimeoutMs", timeout),
                        ("retryPolicy", retry),
                        ("context", context),
                        ("asyncResult", later),
                        ("crossoverToAsyncMs", crossover),
                    ])
                },
            );
        let call = (
            name(),
            maybe(vec![json!(""), json!("EXTERNAL"), json!("externalized")]),
            maybe(vec![
                json!(""),
                json!("SYNC"),
                json!("ASYNC_NEW_TX"),
                json!("SOMETIME"),
            ]),
            option::of(config),
            annotations(),
        )
            .prop_map(|(name, kind, mode, config, annotations)| {
                object(vec![
                    ("name", Some(json!(name))),
                    ("type", kind),
                    ("executionMode", mode),
                    ("config", config),
                    ("annotations", annotations),
                ])
            });
        let committing =
            (name(), any::<bool>(), any::<bool>()).prop_map(|(name, within, joins)| {
                let mut processor =
                    json!({"name": name, "executionMode": "COMMIT_BEFORE_DISPATCH", "config": {}});
                let place = if within {
                    &mut processor["config"]
                } else {
                    &mut processor
                };
                place["startNewTxOnDispatch"] = json!(joins);
                processor
            });
        prop_oneof![timer, call, committing]
    }

    /// A transition whose target is given by number.
    fn transition() -> impl Strategy<Value = (usize, Value)> {
        let kind = select(vec![
            json!({"manual": true}),
            json!({"manual": false}),
            json!({"manual": true, "disabled": false}),
            json!({"manual": false, "disabled": true}),
            json!({"manual": false, "schedule": null}),
            json!({"manual": false, "schedule": {"delayMs": 7, "timeoutMs": 0}}),
            json!({"manual": false, "schedule": {"function": {"name": "f", "resultKind": "Schedule",
                "calculationNodesTags": "t", "context": ""}}}),
        ]);
        let processors = option::of(prop::collection::vec(processor(), 0..3));
        (
            any::<usize>(),
            kind,
            criterion(),
            processors,
            annotations(),
            annotations(),
        )
            .prop_map(
                |(next, mut transition, criterion, processors, annotations, more)| {
                    let members = object(vec![
                        ("criterion", criterion),
                        ("processors", processors.map(Value::from)),
                        ("annotations", annotations),
                        ("criterionAnnotations", more),
                    ]);
                    for (name, value) in members.as_object().expect("an object") {
                        transition[name] = value.clone();
                    }
                    (next, transition)
                },
            )
    }

    fn definition() -> impl Strategy<Value = String> {
        let state = (
            option::of(prop::collection::btree_map(name(), transition(), 0..3)),
            annotations(),
        );
        let states = prop::collection::btree_map("[A-Za-zÄß][A-Za-z0-9_-]{0,6}", state, 1..4);
        let top = (
            name(),
            maybe(vec![json!("1"), json!("1.3"), json!("")]),
            maybe(vec![json!(""), json!("what it is for")]),
            maybe(vec![json!(null), json!(true), json!(false)]),
        );
        (top, criterion(), annotations(), annotations(), states).prop_map(
            |((name, version, desc, active), criterion, annotations, more, states)| {
                let names: Vec<_> = states.keys().cloned().collect();
                let states = states
                    .into_iter()
                    .map(|(name, (transitions, annotations))| {
                        let transitions = transitions.map(|transitions| {
                            let all =
                                transitions
                                    .into_iter()
                                    .map(|(name, (next, mut transition))| {
                                        transition["name"] = json!(name);
                                        transition["next"] = json!(names[next % names.len()]);
                                        transition
                                    });
                            all.collect::<Value>()
                        });
                        let state =
                            vec![("transitions", transitions), ("annotations", annotations)];
                        (name, object(state))
                    });
                let workflow = vec![
                    ("name", Some(json!(name))),
                    ("version", version),
                    ("desc", desc),
                    ("active", active),
                    ("criterion", criterion),
                    ("annotations", annotations),
                    ("criterionAnnotations", more),
                    ("initialState", Some(json!(names[0]))),
                    ("states", Some(states.collect::<Map<_, _>>().into())),
                ];
                object(workflow).to_string()
            },
        )
    }

    #[test]
    fn a_state_with_too_many_transitions_is_refused_at_import_and_still_loaded() {
        let workflow = |count: usize| {
            let transitions: Vec<_> = (0..count)
                .map(|n| format!(r#"{{"name":"t{n}","next":"A","manual":true}}"#))
                .collect();
            format!(
                r#"{{"version":"1","name":"w","initialState":"A","states":{{"A":{{"transitions":[{}]}}}}}}"#,
                transitions.join(",")
            )
        };
        Workflow::parse(&workflow(1_000)).expect("few");
        let refused = Workflow::parse(&workflow(1_001))
            .expect_err("many")
            .to_string();
        for named in ["workflow \"w\"", "state \"A\"", "1001 transitions", "1000"] {
            assert!(refused.contains(named), "{named}: {refused}");
        }
        Workflow::load(&workflow(1_001)).expect("it was imported before");
    }

    proptest! {
        #[test]
        fn what_was_exported_imports_to_the_same_definition(text in definition(), active in any::<bool>()) {
            for compat in [Compat::Documented, Compat::Cyoda08] {
                let Ok(first) = Workflow::import(&text, compat) else {
                    // The profile accepts fewer modes and versions.
                    prop_assert_eq!(compat, Compat::Cyoda08, "{}", text);
                    continue;
                };
                let exported = first.workflow.definition.export(active, compat).expect("readable");
                let again = Workflow::import(exported.as_str(), compat).expect("valid");
                prop_assert_eq!(again.active, Some(active));
                let re_exported = again.workflow.definition.export(active, compat).expect("readable");
                prop_assert_eq!(exported.as_str(), re_exported.as_str());
                // The profile changes only the version of the body.
                if compat == Compat::Documented {
                    prop_assert_eq!(format!("{:?}", first.workflow), format!("{:?}", again.workflow));
                }
                let loaded = Workflow::load(first.workflow.definition.body.as_str()).expect("valid");
                prop_assert_eq!(format!("{:?}", first.workflow), format!("{:?}", loaded));
            }
        }
    }
}
