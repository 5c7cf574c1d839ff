//! Builds a definition from its documented form, and collects every error in it
//! (`workflow-engine.md` §4.5).

use std::{collections::HashSet, sync::Arc, time::Duration};

use sha2::{Digest as _, Sha256};

use super::{
    Definition, Error, Hash, MachineName, Mode, Processor, Schedule, State, Task, Timing,
    Transition, Trigger, Workflow,
    check::{Location, Problems, remedy},
    json::{ConfigJson, ProcessorJson, Raw, ScheduleJson, StateJson, TransitionJson, WorkflowJson},
    on_runs::{build_signal, build_start, signals_runs, starts_run},
    weight,
};
use crate::condition::Condition;
use crate::dispatch::{Given, RetryPolicy};
use crate::entity::Json;
use crate::expr;

pub(super) fn build(
    json: WorkflowJson,
    place: &Location,
    problems: &mut Problems,
) -> Result<Workflow, Error> {
    let body = serde_json::to_string(&json).map_err(|error| Error::Json(error.to_string()))?;
    let hash = Hash(Sha256::digest(&body).into());
    problems.name(place, "the name of the workflow", &json.name);
    if !json.states.contains_key(&json.initial_state) {
        problems.add(
            place,
            format!(
                "`initialState` is `{}`, which is not among the states; add that state, or name an existing one",
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
    let criterion = build_criterion(json.criterion, place, problems);
    let machine = json.machine.map(|machine| MachineName {
        name: machine.name,
        namespace: machine.namespace,
    });
    let workflow = Workflow {
        name: json.name.as_ref().into(),
        initial: json.initial_state.as_ref().into(),
        weight: weight(criterion.as_ref(), &states),
        criterion,
        states,
        machine,
        definition: Definition {
            body: Json::trusted(body),
            hash,
        },
    };
    // One that was accepted before is refused by the events that meet it.
    if workflow.machine.is_some() && !problems.is_stored {
        check_guards(&workflow, problems);
    }
    Ok(workflow)
}

/// Checks the guards of the state machine that a workflow is made from.
fn check_guards(workflow: &Workflow, problems: &mut Problems) {
    for (place, criterion) in workflow.criteria() {
        let functions = criterion.functions().into_iter();
        for function in functions.filter(|function| function.name.as_str() == MachineName::GUARD) {
            let guard = function.call.context.as_deref().unwrap_or_default();
            if let Err(error) = expr::check_condition(guard) {
                problems.add(&place, format!("the guard in `context`: {error}"));
            }
        }
    }
}

fn build_state(
    json: StateJson,
    place: &Location,
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
    place: &Location,
    states: &HashSet<Arc<str>>,
    problems: &mut Problems,
) -> Transition {
    problems.name(place, "the name of the transition", &json.name);
    if !states.contains(&json.next) {
        problems.add(
            place,
            format!(
                "`next` is `{}`, which is not among the states; add that state, or name an existing one",
                json.next
            ),
        );
    }
    if json.manual.is_none() {
        problems.add(
            place,
            "`manual` is missing; set it to true or false".to_owned(),
        );
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
    place: &Location,
    problems: &mut Problems,
) -> Option<Schedule> {
    // Definitions of the reference may have one (`workflow-engine.md` §4.5).
    let timeout = json.timeout_ms.filter(|ms| *ms >= 0);
    if timeout != json.timeout_ms {
        problems.warn(
            place,
            "`timeoutMs` of the schedule is less than 0 and means no limit",
        );
    }
    let mut fault = |text: &str| problems.add(place, text.to_owned());
    if manual == Some(true) {
        fault(
            "manual and scheduled are mutually exclusive; set `\"manual\": false`, or remove the `schedule`",
        );
    }
    let timing = match (&json.function, json.delay_ms) {
        (None, delay @ 1..) => Timing::After(millis(delay)),
        (Some(function), 0) => {
            if function.name.is_empty() {
                fault("the function of the schedule has no `name`; add one");
            }
            if &*function.result_kind != SCHEDULE_RESULT {
                fault("`resultKind` of the schedule's function is not `Schedule`; set it to that");
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
            fault(
                "exactly one of schedule.delayMs or schedule.function is required; give a `delayMs` above 0 or a `function`",
            );
            return None;
        }
    };
    Some(Schedule {
        timing,
        timeout: timeout.map(millis),
    })
}

/// The result kind of a schedule function.
const SCHEDULE_RESULT: &str = "Schedule";

/// Milliseconds; negative values count as 0.
fn millis(ms: i64) -> Duration {
    Duration::from_millis(u64::try_from(ms).unwrap_or(0))
}

fn build_criterion(raw: Raw, place: &Location, problems: &mut Problems) -> Option<Condition> {
    let raw = raw?;
    let parse = if problems.compat.runs_find_out() {
        Condition::parse_criterion_or_unknown
    } else {
        Condition::parse_criterion
    };
    let parsed = parse(raw.get()).and_then(|condition| {
        let checked = condition.check_patterns();
        // One that was accepted before never matches (`workflow-engine.md` §2.7).
        if !problems.is_stored {
            checked?;
        }
        condition.check_times()?;
        Ok(condition)
    });
    match parsed {
        Ok(condition) => {
            for unknown in condition.unknowns() {
                let text = format!("`criterion`: {unknown}; a run that evaluates it fails");
                problems.warn(place, &text);
            }
            Some(condition)
        }
        Err(error) => {
            problems.add(place, format!("`criterion`: {error}{}", remedy(&error)));
            None
        }
    }
}

/// The type of a processor that is a timer.
pub(super) fn is_timer(json: &ProcessorJson) -> bool {
    json.kind.eq_ignore_ascii_case("scheduled")
}

fn build_processor(json: &ProcessorJson, place: &Location, problems: &mut Problems) -> Processor {
    problems.name(place, "the name of the processor", &json.name);
    let task = if is_timer(json) {
        build_timer(&json.config, place, problems)
    } else if starts_run(json) {
        build_start(&json.config, place, problems)
    } else if signals_runs(json) {
        build_signal(&json.config, place, problems)
    } else {
        build_call(json, place, problems)
    };
    Processor {
        name: json.name.as_ref().into(),
        task,
    }
}

/// `workflow-engine.md` §9.6.
fn build_timer(config: &ConfigJson, place: &Location, problems: &mut Problems) -> Task {
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
            "`config.delayMs` is missing or less than 0; set the delay in milliseconds".to_owned(),
        );
    }
    if config.timeout_ms.is_some_and(|ms| ms < 0) {
        problems.add(
            place,
            "`config.timeoutMs` is less than 0; remove it for no limit".to_owned(),
        );
    }
    Task::Timer {
        transition: transition.into(),
        delay: millis(config.delay_ms.unwrap_or(0)),
        timeout: config.timeout_ms.map(millis),
    }
}

fn build_call(json: &ProcessorJson, place: &Location, problems: &mut Problems) -> Task {
    let kind = json.kind.to_ascii_lowercase();
    if kind == "internalized" && problems.compat.runs_find_out() {
        return Task::Internalized;
    }
    let is_known = ["", "external", "externalized"].contains(&kind.as_str());
    let is_taken = is_known || problems.compat.unknown_type_is_a_call();
    if !is_taken {
        problems.add(
            place,
            format!(
                "`type` is `{}`; use EXTERNAL, externalized, scheduled, run or signal",
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

/// `workflow-engine.md` §6.1, §6.6 and §4.5: an unknown mode acts as `SYNC`.
fn mode(json: &ProcessorJson, place: &Location, problems: &mut Problems) -> Mode {
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
            "`startNewTxOnDispatch` needs the `executionMode` COMMIT_BEFORE_DISPATCH; remove it or change the mode".to_owned(),
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

/// How long an asynchronous result is awaited inside the transaction, in milliseconds.
const CROSSOVER_MS: i64 = 5_000;
