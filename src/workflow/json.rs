//! The documented JSON form of a workflow (`workflow-engine.md` §1 and §5).

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
    time::Duration,
};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};

use super::{
    Definition, Error, Hash, Mode, Processor, Schedule, State, Task, Timing, Transition, Trigger,
    Workflow,
    check::{Place, Problems, mend},
};
use crate::callout::{Given, RetryPolicy};
use crate::compat::Compat;
use crate::condition::Condition;
use crate::entity::{Document, Json};

/// A definition that was read, and what its author should know about it.
#[derive(Debug, Clone)]
pub struct Parsed {
    pub workflow: Workflow,
    /// What the definition says of itself; an import decides what to make of it.
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

type Raw = Option<Box<RawValue>>;

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WorkflowJson {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    version: Option<Arc<str>>,
    #[serde(default)]
    name: Arc<str>,
    #[serde(default, skip_serializing_if = "left_out::is_blank")]
    desc: Option<Arc<str>>,
    #[serde(default)]
    initial_state: Arc<str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    active: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    criterion: Raw,
    #[serde(default)]
    states: BTreeMap<Arc<str>, StateJson>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    annotations: Raw,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    criterion_annotations: Raw,
}

#[derive(Serialize, Deserialize)]
struct StateJson {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    transitions: Vec<TransitionJson>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    annotations: Raw,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct TransitionJson {
    #[serde(default)]
    name: Arc<str>,
    #[serde(default)]
    next: Arc<str>,
    #[serde(default)]
    manual: Option<bool>,
    #[serde(default, skip_serializing_if = "left_out::is_false")]
    disabled: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    criterion: Raw,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    processors: Option<Vec<ProcessorJson>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    schedule: Option<ScheduleJson>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    annotations: Raw,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    criterion_annotations: Raw,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ProcessorJson {
    #[serde(default, rename = "type")]
    kind: Arc<str>,
    #[serde(default)]
    name: Arc<str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    execution_mode: Option<Arc<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    start_new_tx_on_dispatch: Option<bool>,
    #[serde(default)]
    config: ConfigJson,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    annotations: Raw,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ConfigJson {
    /// Always written for calls: absence means true, so leaving `false` out would turn it round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    attach_entity: Option<bool>,
    #[serde(default, skip_serializing_if = "left_out::is_blank")]
    calculation_nodes_tags: Option<Arc<str>>,
    #[serde(default, skip_serializing_if = "left_out::is_zero")]
    response_timeout_ms: Option<i64>,
    #[serde(default, skip_serializing_if = "left_out::is_blank")]
    retry_policy: Option<Arc<str>>,
    #[serde(default, skip_serializing_if = "left_out::is_blank")]
    context: Option<Arc<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    start_new_tx_on_dispatch: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    async_result: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    crossover_to_async_ms: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    delay_ms: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    transition: Option<Arc<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    timeout_ms: Option<i64>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ScheduleJson {
    /// 0 where a function says.
    #[serde(default)]
    delay_ms: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    timeout_ms: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    function: Option<ScheduleFunctionJson>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ScheduleFunctionJson {
    #[serde(default)]
    name: Arc<str>,
    #[serde(default)]
    result_kind: Arc<str>,
    #[serde(default)]
    calculation_nodes_tags: Arc<str>,
    #[serde(default)]
    attach_entity: Option<bool>,
    #[serde(default, skip_serializing_if = "left_out::is_blank")]
    context: Option<Arc<str>>,
    #[serde(default, skip_serializing_if = "left_out::is_zero")]
    response_timeout_ms: Option<i64>,
}

/// What an export leaves out. The signatures are serde's.
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
    /// Reads one definition, and says everything that is wrong with it.
    pub fn parse(text: &str) -> Result<Parsed, Error> {
        Self::import(text, Compat::default())
    }

    /// The same, as an import under that profile does.
    pub fn import(text: &str, compat: Compat) -> Result<Parsed, Error> {
        let mut unknown = Vec::new();
        let mut reader = serde_json::Deserializer::from_str(text);
        let mut json: WorkflowJson =
            serde_ignored::deserialize(&mut reader, |path| unknown.push(path.to_string()))
                .map_err(|error| Error::Json(error.to_string()))?;
        let place = Place::workflow(&json.name);
        let mut problems = Problems::new(compat);
        for member in unknown {
            if compat.unknown_members_are_refused() {
                return Err(Error::Json(format!("unknown member `{member}`")));
            }
            problems.warn(&place, &format!("unknown member `{member}` is ignored"));
        }
        json.version_counts(compat)?;
        json.tidy(&place, &mut problems);
        json.read(&place, problems)
    }

    /// Reads a definition that was imported, under whatever profile that was.
    pub fn load(text: &str) -> Result<Self, Error> {
        let json: WorkflowJson =
            serde_json::from_str(text).map_err(|error| Error::Json(error.to_string()))?;
        let place = Place::workflow(&json.name);
        let parsed = json.read(&place, Problems::new(Compat::Cyoda08))?;
        Ok(parsed.workflow)
    }
}

/// The execution modes there are; nothing means the default.
const MODES: [&str; 5] = [
    "",
    "SYNC",
    "ASYNC_SAME_TX",
    "ASYNC_NEW_TX",
    "COMMIT_BEFORE_DISPATCH",
];

/// The schema versions that cyoda 0.8 knows; the last is what it exports.
const SCHEMA_VERSIONS: [&str; 3] = ["1.1", "1.2", "1.3"];

impl WorkflowJson {
    fn read(mut self, place: &Place, mut problems: Problems) -> Result<Parsed, Error> {
        let active = self.active.take();
        let workflow = build(self, place, &mut problems)?;
        problems.none_or_err()?;
        Ok(Parsed {
            workflow,
            active,
            warnings: problems.warnings,
        })
    }

    /// `workflow-engine.md` §4.3.
    fn version_counts(&self, compat: Compat) -> Result<(), Error> {
        let version = self.version.as_deref().unwrap_or_default();
        if compat.schema_version_counts() && !SCHEMA_VERSIONS.contains(&version) {
            return Err(Error::Version {
                given: version.to_owned(),
                known: SCHEMA_VERSIONS.join(", "),
            });
        }
        Ok(())
    }
}

impl Definition {
    /// The documented form, as an export answers it.
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
    /// Takes out what says nothing and brings what is kept as given into canonical form.
    fn tidy(&mut self, place: &Place, problems: &mut Problems) {
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

impl TransitionJson {
    fn tidy(&mut self, place: &Place, problems: &mut Problems) {
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
            if processor.execution_mode.is_none() && problems.compat.absent_mode_is_sync() {
                processor.execution_mode = Some("SYNC".into());
            }
            known_mode(processor, &place, problems);
            if !is_timer(processor) {
                processor.config.attach_entity.get_or_insert(ATTACH_ENTITY);
            }
        }
    }
}

/// Refuses a mode that is not known, where those are.
fn known_mode(processor: &ProcessorJson, place: &Place, problems: &mut Problems) {
    let mode = processor.execution_mode.as_deref().unwrap_or_default();
    if problems.compat.unknown_mode_is_refused() && !MODES.contains(&mode) {
        let known = MODES[1..].join(", ");
        problems.add(
            place,
            format!("`executionMode` is `{mode}`; say one of {known}"),
        );
    }
}

/// An absent criterion, `null` and `{}` are the same (`workflow-engine.md` §2.1).
fn criterion(raw: &mut Raw) {
    compact(raw);
    raw.take_if(|raw| matches!(raw.get(), "null" | "{}"));
}

fn annotations(raw: &mut Raw, member: &str, place: &Place, problems: &mut Problems) {
    compact(raw);
    raw.take_if(|raw| raw.get() == "null");
    if let Some(raw) = raw {
        if !raw.get().starts_with('{') {
            problems.add(
                place,
                format!("`{member}` is not an object; make it one, or leave it out"),
            );
        } else if raw.get().len() > ANNOTATION_MAX {
            problems.add(
                place,
                format!(
                    "`{member}` takes {} bytes; shorten it to {ANNOTATION_MAX}",
                    raw.get().len()
                ),
            );
        }
    }
}

/// Text that is no document (doubled members, deep nesting) stays as it is: who reads it says so.
fn compact(raw: &mut Raw) {
    let compacted = raw.as_ref().and_then(|raw| Document::from_raw(raw).ok());
    if let Some(document) = compacted {
        *raw = RawValue::from_string(document.json().as_str().to_owned()).ok();
    }
}

fn build(json: WorkflowJson, place: &Place, problems: &mut Problems) -> Result<Workflow, Error> {
    let body = serde_json::to_string(&json).map_err(|error| Error::Json(error.to_string()))?;
    let hash = Hash(Sha256::digest(&body).into());
    problems.name(place, "the name of the workflow", &json.name);
    if !json.states.contains_key(&json.initial_state) {
        problems.add(
            place,
            format!(
                "`initialState` is `{}`, which is not among the states; add that state, or name another",
                json.initial_state
            ),
        );
    }
    let known: HashSet<_> = json.states.keys().cloned().collect();
    let states = json
        .states
        .into_iter()
        .map(|(name, state)| {
            let place = place.state(&name);
            problems.state_name(&place, &name);
            let state = build_state(state, &place, &known, problems);
            (name.as_ref().into(), state)
        })
        .collect();
    Ok(Workflow {
        name: json.name.as_ref().into(),
        initial: json.initial_state.as_ref().into(),
        criterion: build_criterion(json.criterion, place, problems),
        states,
        definition: Definition {
            body: Json::trusted(body),
            hash,
        },
    })
}

fn build_state(
    json: StateJson,
    place: &Place,
    states: &HashSet<Arc<str>>,
    problems: &mut Problems,
) -> State {
    let mut seen = HashSet::new();
    let transitions = json
        .transitions
        .into_iter()
        .map(|transition| {
            let place = place.transition(&transition.name);
            if !seen.insert(Arc::clone(&transition.name)) {
                problems.add(
                    &place,
                    "the state has another transition of that name; rename one".to_owned(),
                );
            }
            build_transition(transition, &place, states, problems)
        })
        .collect();
    State { transitions }
}

fn build_transition(
    json: TransitionJson,
    place: &Place,
    states: &HashSet<Arc<str>>,
    problems: &mut Problems,
) -> Transition {
    problems.name(place, "the name of the transition", &json.name);
    if !states.contains(&json.next) {
        problems.add(
            place,
            format!(
                "`next` is `{}`, which is not among the states; add that state, or name another",
                json.next
            ),
        );
    }
    if json.manual.is_none() {
        problems.add(place, "`manual` is missing; say true or false".to_owned());
    }
    let schedule = json
        .schedule
        .as_ref()
        .and_then(|schedule| build_schedule(schedule, json.manual, place, problems));
    let trigger = match (json.disabled, schedule, json.manual) {
        (Some(true), ..) => Trigger::Disabled,
        (_, Some(schedule), _) => Trigger::Scheduled(Box::new(schedule)),
        (_, None, Some(true)) => Trigger::Manual,
        (_, None, _) => Trigger::Automated,
    };
    Transition {
        name: json.name.as_ref().into(),
        next: json.next.as_ref().into(),
        trigger,
        criterion: build_criterion(json.criterion, place, problems),
        processors: json
            .processors
            .into_iter()
            .flatten()
            .map(|processor| {
                let place = place.processor(&processor.name);
                build_processor(&processor, &place, problems)
            })
            .collect(),
    }
}

fn build_schedule(
    json: &ScheduleJson,
    manual: Option<bool>,
    place: &Place,
    problems: &mut Problems,
) -> Option<Schedule> {
    let mut fault = |text: &str| problems.add(place, text.to_owned());
    if manual == Some(true) {
        fault("a transition with a `schedule` is not manual; say `\"manual\": false`");
    }
    if json.timeout_ms.is_some_and(|ms| ms < 0) {
        fault("`timeoutMs` of the schedule is less than 0; leave it out for no limit");
    }
    let timing = match (&json.function, json.delay_ms) {
        (None, delay @ 1..) => Timing::After(millis(delay)),
        (Some(function), 0) => {
            if function.name.is_empty() {
                fault("the function of the schedule has no `name`; give it one");
            }
            if &*function.result_kind != SCHEDULE_RESULT {
                fault("`resultKind` of the schedule's function is not `Schedule`; say so");
            }
            let call = Given {
                attach_entity: function.attach_entity,
                tags: Some(&function.calculation_nodes_tags),
                response_timeout_ms: function.response_timeout_ms,
                retry_policy: None,
                context: function.context.as_deref(),
            }
            .settings();
            if call.tags.iter().next().is_none() {
                fault(
                    "the function of the schedule has no `calculationNodesTags`; name the tags of its members",
                );
            }
            Timing::Asked {
                function: function.name.as_ref().into(),
                call,
            }
        }
        _ => {
            fault("a schedule has either a `delayMs` above 0 or a `function`; give one of them");
            return None;
        }
    };
    Some(Schedule {
        timing,
        timeout: json.timeout_ms.map(millis),
    })
}

/// What a schedule's function answers.
const SCHEDULE_RESULT: &str = "Schedule";

/// A time in milliseconds; none is less than nothing.
fn millis(ms: i64) -> Duration {
    Duration::from_millis(u64::try_from(ms).unwrap_or(0))
}

fn build_criterion(raw: Raw, place: &Place, problems: &mut Problems) -> Option<Condition> {
    let raw = raw?;
    let parsed = Condition::parse_criterion(raw.get()).and_then(|condition| {
        condition.check_patterns()?;
        condition.check_times()?;
        Ok(condition)
    });
    match parsed {
        Ok(condition) => Some(condition),
        Err(error) => {
            problems.add(place, format!("`criterion`: {error}{}", mend(&error)));
            None
        }
    }
}

/// The type of a processor that is a timer.
fn is_timer(json: &ProcessorJson) -> bool {
    json.kind.eq_ignore_ascii_case("scheduled")
}

fn build_processor(json: &ProcessorJson, place: &Place, problems: &mut Problems) -> Processor {
    problems.name(place, "the name of the processor", &json.name);
    let task = if is_timer(json) {
        build_timer(&json.config, place, problems)
    } else {
        build_call(json, place, problems)
    };
    Processor {
        name: json.name.as_ref().into(),
        task,
    }
}

/// `workflow-engine.md` §9.6.
fn build_timer(config: &ConfigJson, place: &Place, problems: &mut Problems) -> Task {
    let transition = config.transition.as_deref().unwrap_or_default();
    if transition.is_empty() {
        problems.add(
            place,
            "`config.transition` is missing; name the transition to take later".to_owned(),
        );
    }
    if config.delay_ms.is_none_or(|ms| ms < 0) {
        problems.add(
            place,
            "`config.delayMs` is missing or less than 0; say after how many milliseconds"
                .to_owned(),
        );
    }
    if config.timeout_ms.is_some_and(|ms| ms < 0) {
        problems.add(
            place,
            "`config.timeoutMs` is less than 0; leave it out for no limit".to_owned(),
        );
    }
    Task::Timer {
        transition: transition.into(),
        delay: millis(config.delay_ms.unwrap_or(0)),
        timeout: config.timeout_ms.map(millis),
    }
}

fn build_call(json: &ProcessorJson, place: &Place, problems: &mut Problems) -> Task {
    let kind = json.kind.to_ascii_lowercase();
    let is_known = ["", "external", "externalized"].contains(&kind.as_str());
    let is_taken = is_known || (problems.compat.unknown_type_is_a_call() && kind != "internalized");
    if !is_taken {
        problems.add(
            place,
            format!(
                "`type` is `{}`; say EXTERNAL, externalized or scheduled",
                json.kind
            ),
        );
    }
    let config = &json.config;
    let policy = config.retry_policy.as_deref();
    if policy.is_some_and(|name| RetryPolicy::from_name(name).is_none()) {
        let name = policy.unwrap_or_default();
        problems.warn(
            place,
            &format!("`retryPolicy` `{name}` is unknown and acts as NONE"),
        );
    }
    let given = Given {
        attach_entity: config.attach_entity,
        tags: config.calculation_nodes_tags.as_deref(),
        response_timeout_ms: config.response_timeout_ms,
        retry_policy: policy,
        context: config.context.as_deref(),
    };
    Task::Call {
        mode: mode(json, place, problems),
        call: given.settings(),
    }
}

/// `workflow-engine.md` §6.1, §6.6 and §4.5: a mode that is not known acts as `SYNC`.
fn mode(json: &ProcessorJson, place: &Place, problems: &mut Problems) -> Mode {
    let config = &json.config;
    let joins = [
        json.start_new_tx_on_dispatch,
        config.start_new_tx_on_dispatch,
    ]
    .contains(&Some(true));
    let mode = match json.execution_mode.as_deref() {
        None | Some("ASYNC_NEW_TX") => Mode::AsyncNewTx,
        Some("SYNC" | "") => Mode::Sync,
        Some("ASYNC_SAME_TX") => Mode::AsyncSameTx,
        Some("COMMIT_BEFORE_DISPATCH") => Mode::CommitBeforeDispatch { joins },
        Some(other) => {
            problems.warn(
                place,
                &format!("`executionMode` `{other}` is unknown and acts as SYNC"),
            );
            Mode::Sync
        }
    };
    if joins && !matches!(mode, Mode::CommitBeforeDispatch { .. }) {
        problems.add(
            place,
            "`startNewTxOnDispatch` needs the `executionMode` COMMIT_BEFORE_DISPATCH; leave it out or change the mode".to_owned(),
        );
    }
    if config.async_result == Some(true) && matches!(mode, Mode::Sync | Mode::AsyncSameTx) {
        let after = config.crossover_to_async_ms.unwrap_or(CROSSOVER_MS);
        return Mode::Crossover {
            after: millis(after),
        };
    }
    mode
}

/// How long an asynchronous result is waited for inside the transaction, in milliseconds.
const CROSSOVER_MS: i64 = 5_000;

#[cfg(test)]
mod tests {
    use proptest::{option, prelude::*, sample::select};
    use serde_json::{Map, Value, json};

    use super::*;

    /// An object of the members that are there.
    fn object(members: Vec<(&str, Option<Value>)>) -> Value {
        let there = members
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value?)));
        Value::Object(there.collect::<Map<_, _>>())
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

    /// A transition, whose target is given by a number.
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

    proptest! {
        #[test]
        fn what_was_exported_imports_to_the_same_definition(text in definition(), active in any::<bool>()) {
            for compat in [Compat::Documented, Compat::Cyoda08] {
                let Ok(first) = Workflow::import(&text, compat) else {
                    // It takes fewer modes and versions.
                    prop_assert_eq!(compat, Compat::Cyoda08, "{}", text);
                    continue;
                };
                let exported = first.workflow.definition.export(active, compat).expect("readable");
                let again = Workflow::import(exported.as_str(), compat).expect("valid");
                prop_assert_eq!(again.active, Some(active));
                let re_exported = again.workflow.definition.export(active, compat).expect("readable");
                prop_assert_eq!(exported.as_str(), re_exported.as_str());
                // Of the body that profile changes one thing: the version.
                if compat == Compat::Documented {
                    prop_assert_eq!(format!("{:?}", first.workflow), format!("{:?}", again.workflow));
                }
                let loaded = Workflow::load(first.workflow.definition.body.as_str()).expect("valid");
                prop_assert_eq!(format!("{:?}", first.workflow), format!("{:?}", loaded));
            }
        }
    }
}
