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
    Attachment, CallSettings, Definition, Error, Hash, Processor, RetryPolicy, State, Tags,
    Transition, Trigger, Workflow,
    check::{Place, Problems},
};
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
    schedule: Raw,
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
    /// Always written: absence means true, so leaving `false` out would turn it round.
    #[serde(default)]
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
        let mut unknown = Vec::new();
        let mut reader = serde_json::Deserializer::from_str(text);
        let mut json: WorkflowJson =
            serde_ignored::deserialize(&mut reader, |path| unknown.push(path.to_string()))
                .map_err(|error| Error::Json(error.to_string()))?;
        let active = json.active.take();
        let place = Place::workflow(&json.name);
        let mut problems = Problems::default();
        for member in unknown {
            problems.warn(&place, &format!("unknown member `{member}` is ignored"));
        }
        json.tidy(&place, &mut problems);
        let workflow = build(json, &place, &mut problems)?;
        problems.none_or_err()?;
        Ok(Parsed {
            workflow,
            active,
            warnings: problems.warnings,
        })
    }
}

impl Definition {
    /// The documented form, as an export answers it.
    pub fn export(&self, active: bool) -> Result<Json, DefinitionError> {
        let mut json: WorkflowJson = serde_json::from_str(self.body.as_str())?;
        json.active = Some(active);
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
        criterion(&mut self.criterion);
        annotations(&mut self.annotations, "annotations", place, problems);
        annotations(
            &mut self.criterion_annotations,
            "criterionAnnotations",
            place,
            problems,
        );
        self.processors.take_if(|processors| processors.is_empty());
        self.schedule.take_if(|schedule| schedule.get() == "null");
        for processor in self.processors.iter_mut().flatten() {
            let place = place.processor(&processor.name);
            annotations(&mut processor.annotations, "annotations", &place, problems);
            processor.config.attach_entity.get_or_insert(ATTACH_ENTITY);
        }
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
            problems.add(place, format!("`{member}` is not an object"));
        } else if raw.get().len() > ANNOTATION_MAX {
            problems.add(
                place,
                format!(
                    "`{member}` takes {} bytes; {ANNOTATION_MAX} are allowed",
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
                "`initialState` is `{}`, which is not among the states",
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
                    "the state has another transition of that name".to_owned(),
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
            format!("`next` is `{}`, which is not among the states", json.next),
        );
    }
    if json.manual.is_none() {
        problems.add(place, "`manual` is missing; say true or false".to_owned());
    }
    if json.schedule.is_some() {
        problems.add(
            place,
            "scheduled transitions are not supported yet; leave `schedule` out".to_owned(),
        );
    }
    let trigger = match (json.disabled, json.manual) {
        (Some(true), _) => Trigger::Disabled,
        (_, Some(true)) => Trigger::Manual,
        _ => Trigger::Automated,
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

fn build_criterion(raw: Raw, place: &Place, problems: &mut Problems) -> Option<Condition> {
    let raw = raw?;
    let parsed = Condition::parse(raw.get()).and_then(|condition| {
        condition.check_patterns()?;
        condition.check_times()?;
        Ok(condition)
    });
    match parsed {
        Ok(condition) => Some(condition),
        Err(error) => {
            problems.add(place, format!("`criterion`: {error}"));
            None
        }
    }
}

fn build_processor(json: &ProcessorJson, place: &Place, problems: &mut Problems) -> Processor {
    problems.name(place, "the name of the processor", &json.name);
    if !["", "external", "externalized"].contains(&json.kind.to_ascii_lowercase().as_str()) {
        problems.add(
            place,
            format!(
                "`type` is `{}`; known are EXTERNAL and externalized",
                json.kind
            ),
        );
    }
    mode(json, place, problems);
    let config = &json.config;
    Processor {
        name: json.name.as_ref().into(),
        call: CallSettings {
            tags: Tags::parse(config.calculation_nodes_tags.as_deref().unwrap_or_default()),
            attachment: if config.attach_entity.unwrap_or(ATTACH_ENTITY) {
                Attachment::Entity
            } else {
                Attachment::Nothing
            },
            response_timeout: config
                .response_timeout_ms
                .and_then(|ms| u64::try_from(ms).ok())
                .filter(|ms| *ms > 0)
                .map(Duration::from_millis),
            retry: retry_policy(config.retry_policy.as_deref(), place, problems),
            context: config.context.clone().filter(|context| !context.is_empty()),
        },
    }
}

/// `SYNC` is the only mode so far, and what a mode that is not known acts as
/// (`workflow-engine.md` §4.5 and §6.1).
fn mode(json: &ProcessorJson, place: &Place, problems: &mut Problems) {
    const LATER: [&str; 3] = ["ASYNC_SAME_TX", "ASYNC_NEW_TX", "COMMIT_BEFORE_DISPATCH"];
    match json.execution_mode.as_deref() {
        Some("SYNC") => {}
        None => problems.add(
            place,
            "an absent `executionMode` means ASYNC_NEW_TX, which is not supported yet; say SYNC"
                .to_owned(),
        ),
        Some(mode) if LATER.contains(&mode) => {
            problems.add(
                place,
                format!("`executionMode` {mode} is not supported yet; say SYNC"),
            );
        }
        Some(mode) => problems.warn(
            place,
            &format!("`executionMode` `{mode}` is unknown and acts as SYNC"),
        ),
    }
    if json.start_new_tx_on_dispatch == Some(true)
        || json.config.start_new_tx_on_dispatch == Some(true)
    {
        problems.add(
            place,
            "`startNewTxOnDispatch` needs COMMIT_BEFORE_DISPATCH".to_owned(),
        );
    }
    if json.config.async_result == Some(true) {
        problems.add(
            place,
            "`asyncResult` is not supported yet; leave it out".to_owned(),
        );
    }
}

fn retry_policy(name: Option<&str>, place: &Place, problems: &mut Problems) -> RetryPolicy {
    match name {
        None | Some("" | "NONE") => RetryPolicy::None,
        Some("FIXED") => RetryPolicy::Fixed,
        Some(other) => {
            problems.warn(
                place,
                &format!("`retryPolicy` `{other}` is unknown and acts as NONE"),
            );
            RetryPolicy::None
        }
    }
}
