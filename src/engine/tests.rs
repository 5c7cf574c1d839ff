//! The engine, one decision after the other.

use std::{cell::RefCell, sync::Arc};

use proptest::prelude::*;

use super::*;
use crate::dispatch::Reply;
use crate::entity::Document;
use crate::error::{Code, Coded as _};
use crate::id::{EntityId, ModelKey, TransactionId};
use crate::workflow::{ImportMode, Workflow};

struct Machine {
    workflows: WorkflowSet,
    schema: Schema,
    /// Those of all its runs.
    warnings: RefCell<Vec<String>>,
}

impl Machine {
    fn of(definitions: &[&str]) -> Self {
        let workflows = definitions
            .iter()
            .map(|definition| {
                Arc::new(Workflow::parse(definition).expect(definition).workflow).into()
            })
            .collect();
        Self {
            workflows: WorkflowSet::default().import(ImportMode::Merge, workflows),
            schema: Schema::default(),
            warnings: RefCell::default(),
        }
    }

    fn world(&self) -> World<'_> {
        World {
            workflows: &self.workflows,
            schema: &self.schema,
            limits: Limits::default(),
            now: Timestamp::from_micros(2),
            meter: None,
        }
    }

    /// Drives a run to its end; processors answer with what `answer` says.
    fn drive(
        &self,
        run: Run,
        mut answer: impl FnMut(&Dispatch) -> Result<Answer, DispatchError>,
    ) -> Result<Run, Error> {
        let mut run = Box::new(run);
        let mut input = Input::Go;
        loop {
            let step = step(run, input, self.world(), &mut self.warnings.borrow_mut())?;
            run = step.run;
            input = match step.next {
                Next::Go => Input::Go,
                Next::OnRuns(call) => Input::Answered(Box::new(Answered::of_runs(&call, 0))),
                Next::Settled => return Ok(*run),
                Next::Dispatch(call) => Input::Answered(Box::new(Answered {
                    result: answer(&call),
                    record: DispatchRecord::default(),
                })),
            };
        }
    }

    fn create(&self, json: &str) -> Result<Run, Error> {
        self.drive(create(json), |_| Ok(processed(None)))
    }

    fn update(&self, base: &Run, json: &str, asked: Option<&str>) -> Result<Run, Error> {
        let document = Document::parse(json).expect(json);
        let now = Timestamp::from_micros(2);
        let run = Run::update(
            &base.image(),
            document,
            asked.map_or(Start::Loopback, |name| Start::Named(name.into())),
            TransactionId::NIL,
            now,
        );
        self.drive(run, |_| Ok(processed(None)))
    }
}

fn processed(json: Option<&str>) -> Answer {
    Answer {
        reply: Reply::Processed(json.map(|json| Document::parse(json).expect(json))),
        warnings: vec![],
    }
}

fn create(json: &str) -> Run {
    let at = Timestamp::from_micros(1);
    let subject = Subject {
        id: EntityId::NIL,
        model: ModelKey::new("m", 1),
        created: at,
        updated: at,
        transaction: TransactionId::NIL,
    };
    Run::create(subject, Document::parse(json).expect(json))
}

const FLAG: &str = r#"{"type":"simple","jsonPath":"$.ok","operatorType":"EQUALS","value":true}"#;

fn two_states(members: &str) -> String {
    format!(
        r#"{{"name":"w","initialState":"A","states":{{"A":{{"transitions":[{{"name":"T","next":"B",{members}}}]}},"B":{{}}}}}}"#
    )
}

#[test]
fn without_workflows_the_built_in_one_governs() {
    let machine = Machine::of(&[]);
    let run = machine.create("{}").expect("settles");
    assert_eq!(run.image().state.as_str(), "CREATED");
    assert_eq!(run.image().transition_for_latest_save(), "loopback");
    assert!(machine.warnings.borrow()[0].starts_with("no workflows imported for model"));
}

#[test]
fn the_first_matching_workflow_is_chosen_and_remembered() {
    let guarded = format!(
        r#"{{"name":"first","initialState":"X","criterion":{FLAG},"states":{{"X":{{}}}}}}"#
    );
    let machine = Machine::of(&[
        &guarded,
        r#"{"name":"second","initialState":"Y","states":{"Y":{}}}"#,
    ]);
    for (json, state, workflow) in [(r#"{"ok":true}"#, "X", "first"), ("{}", "Y", "second")] {
        let image = machine.create(json).expect("settles").image();
        assert_eq!(image.state.as_str(), state);
        assert_eq!(image.workflow.expect("remembered").as_str(), workflow);
    }
    let machine = Machine::of(&[&guarded]);
    let only = machine.create("{}").expect("settles");
    assert_eq!(only.image().state.as_str(), "CREATED");
    assert!(machine.warnings.borrow()[0].starts_with("no imported workflow matched entity"));
}

#[test]
fn a_save_cascades_and_a_named_transition_needs_its_guard() {
    let machine = Machine::of(&[&two_states(&format!(
        r#""manual":false,"criterion":{FLAG}"#
    ))]);
    let made = machine.create("{}").expect("settles");
    assert_eq!(made.image().state.as_str(), "A");
    let saved = machine
        .update(&made, r#"{"ok":true}"#, None)
        .expect("settles")
        .image();
    assert_eq!(
        (saved.state.as_str(), saved.transition_for_latest_save()),
        ("B", "loopback")
    );
    let named = machine
        .update(&made, r#"{"ok":true}"#, Some("T"))
        .expect("settles")
        .image();
    assert_eq!(
        (named.state.as_str(), named.transition_for_latest_save()),
        ("B", "T")
    );
    for (asked, code) in [("T", Code::WorkflowFailed), ("U", Code::TransitionNotFound)] {
        let error = machine
            .update(&made, "{}", Some(asked))
            .expect_err("refused");
        assert_eq!(error.code(), code, "{error}");
    }
}

#[test]
fn a_disabled_transition_does_not_exist() {
    let machine = Machine::of(&[&two_states(r#""manual":false,"disabled":true"#)]);
    let made = machine.create("{}").expect("settles");
    assert_eq!(made.image().state.as_str(), "A");
    let error = machine.update(&made, "{}", Some("T")).expect_err("refused");
    assert_eq!(error.code(), Code::TransitionNotFound);
}

#[test]
fn processors_run_in_the_source_state_one_after_the_other() {
    let processors = r#""manual":false,"processors":[{"name":"p","executionMode":"SYNC"},{"name":"q","executionMode":"SYNC"}]"#;
    let machine = Machine::of(&[&two_states(processors)]);
    let mut called = Vec::new();
    let run = machine.drive(create("{}"), |call| {
        let (name, transition_context) = (
            call.callee.name(),
            call.transition_context
                .as_ref()
                .expect("a transition_context"),
        );
        called.push(format!(
            "{name} {}->{}",
            transition_context.from, transition_context.to
        ));
        Ok(Answer {
            warnings: vec!["careful".to_owned()],
            ..processed(Some(&format!(r#"{{"by":"{name}"}}"#)))
        })
    });
    let run = run.expect("settles");
    assert_eq!(called, ["p A->B", "q A->B"]);
    assert_eq!(run.image().document.as_str(), r#"{"by":"q"}"#);
    assert_eq!(
        *machine.warnings.borrow(),
        ["processor p: careful", "processor q: careful"]
    );
}

#[test]
fn a_failing_call_fails_the_run_with_its_code() {
    let machine = Machine::of(&[&two_states(
        r#""manual":false,"processors":[{"name":"p","executionMode":"SYNC"}]"#,
    )]);
    for (failure, code, message) in [
        (
            DispatchError::Rejected {
                message: "no stock".to_owned(),
                warnings: vec![],
            },
            Code::WorkflowFailed,
            "processor p failed: processor dispatch failed: no stock",
        ),
        (
            DispatchError::TimedOut { after_ms: 7 },
            Code::WorkflowFailed,
            "DISPATCH_TIMEOUT: processor dispatch timed out after 7ms",
        ),
        (
            DispatchError::Disconnected,
            Code::ComputeMemberDisconnected,
            "compute member disconnected during processor dispatch",
        ),
        (
            DispatchError::NoMember {
                tags: "a".to_owned(),
            },
            Code::NoComputeMemberForTag,
            "no compute member with the tags [a]",
        ),
    ] {
        let error = machine
            .drive(create("{}"), |_| Err(failure.clone()))
            .expect_err("fails");
        assert_eq!(error.code(), code);
        assert!(error.to_string().starts_with(message), "{error}");
    }
}

#[test]
fn cascades_end_at_their_limits() {
    let guard = r#""criterion":{"type":"lifecycle","field":"state","operatorType":"NOT_NULL"}"#;
    let back_and_forth = format!(
        r#"{{"name":"w","initialState":"A","states":{{
                "A":{{"transitions":[{{"name":"t","next":"B","manual":false,{guard}}}]}},
                "B":{{"transitions":[{{"name":"u","next":"A","manual":false,{guard}}}]}}}}}}"#
    );
    let error = Machine::of(&[&back_and_forth])
        .create("{}")
        .expect_err("loops");
    assert_eq!(
        error.to_string(),
        "state machine aborted: state \"A\" visited 11 times (limit: 10)"
    );

    let chain = |firings: u32| {
        let states: Vec<_> = (0..firings)
            .map(|n| {
                format!(
                    r#""S{n}":{{"transitions":[{{"name":"t","next":"S{}","manual":false}}]}}"#,
                    n + 1
                )
            })
            .collect();
        format!(
            r#"{{"name":"w","initialState":"S0","states":{{{},"S{firings}":{{}}}}}}"#,
            states.join(",")
        )
    };
    assert!(Machine::of(&[&chain(99)]).create("{}").is_ok());
    let error = Machine::of(&[&chain(100)])
        .create("{}")
        .expect_err("too deep");
    assert_eq!(
        error.to_string(),
        "state machine aborted: cascade depth exceeded (100) at state \"S100\""
    );
}

#[test]
fn a_state_that_no_workflow_has_is_saved_but_not_left() {
    let made = Machine::of(&[&two_states(r#""manual":true"#)])
        .create("{}")
        .expect("settles");
    let other = Machine::of(&[r#"{"name":"v","initialState":"Z","states":{"Z":{}}}"#]);
    assert_eq!(
        other
            .update(&made, "{}", None)
            .expect("settles")
            .image()
            .state
            .as_str(),
        "A"
    );
    let error = other.update(&made, "{}", Some("T")).expect_err("refused");
    assert_eq!(
        (error.code(), error.to_string().as_str()),
        (
            Code::WorkflowFailed,
            "no workflow contains state `A`; import a workflow that has this state"
        )
    );
}

#[test]
fn answers_and_calls_must_fit() {
    let machine = Machine::of(&[]);
    let answered = Input::Answered(Box::new(Answered {
        result: Ok(processed(None)),
        record: DispatchRecord::default(),
    }));
    assert_eq!(
        step(
            Box::new(create("{}")),
            answered,
            machine.world(),
            &mut Vec::new()
        )
        .err()
        .map(|error| error.code()),
        Some(Code::ServerError)
    );
}

fn any_workflow() -> impl Strategy<Value = String> {
    let transition = (0_usize..5, any::<bool>(), any::<bool>(), 0_usize..3);
    prop::collection::vec(prop::collection::vec(transition, 0..4), 5).prop_map(|states| {
            let states: Vec<_> = states
                .into_iter()
                .enumerate()
                .map(|(state, transitions)| {
                    let transitions: Vec<_> = transitions
                        .into_iter()
                        .enumerate()
                        .map(|(number, (next, manual, guarded, processors))| {
                            let criterion = if guarded { FLAG } else { "null" };
                            let processors = vec![r#"{"name":"p","executionMode":"SYNC"}"#; processors].join(",");
                            format!(
                                r#"{{"name":"t{number}","next":"S{next}","manual":{manual},"criterion":{criterion},"processors":[{processors}]}}"#
                            )
                        })
                        .collect();
                    format!(r#""S{state}":{{"transitions":[{}]}}"#, transitions.join(","))
                })
                .collect();
            format!(r#"{{"name":"w","initialState":"S0","states":{{{}}}}}"#, states.join(","))
        })
}

proptest! {
    #[test]
    fn every_run_settles_or_stops_at_a_limit(workflow in any_workflow(), answers in prop::collection::vec(any::<bool>(), 200)) {
        let machine = Machine::of(&[&workflow]);
        let drive = || {
            let mut answers = answers.iter().cycle();
            machine.drive(create("{}"), |_| {
                let ok = answers.next().is_some_and(|ok| *ok);
                Ok(processed(Some(&format!(r#"{{"ok":{ok}}}"#))))
            })
        };
        match drive() {
            Ok(run) => {
                let image = run.image();
                let state = machine.workflows.entries[0].workflow.state(&image.state).expect("a state of the workflow");
                let stable = state.transitions.iter().all(|transition| {
                    !transition.is_automated() || transition.criterion.as_ref()
                        .is_some_and(|guard| !guard.holds(run.facts(&machine.schema, guard), None))
                });
                prop_assert!(stable);
                // The same answers give the same run.
                prop_assert_eq!(drive().expect("settles again").finish().record, run.finish().record);
            }
            Err(error) => prop_assert!(matches!(error, Error::TooManyVisits { .. } | Error::TooDeep { .. }), "{}", error),
        }
    }
}

#[test]
fn a_run_that_is_resumed_still_arms_what_a_processor_before_had_asked_for() {
    let machine = Machine::of(&[r#"{"name":"w","initialState":"A","states":{
            "A":{"transitions":[{"name":"T","next":"B","manual":false,"processors":[
                {"type":"scheduled","name":"later","config":{"delayMs":5,"transition":"U"}},
                {"name":"p","executionMode":"COMMIT_BEFORE_DISPATCH"}]}]},
            "B":{"transitions":[{"name":"U","next":"A","manual":true}]}}}"#]);
    let mut run = Box::new(create("{}"));
    let suspended = loop {
        let taken = step(run, Input::Go, machine.world(), &mut Vec::new()).expect("continues");
        run = taken.run;
        if matches!(taken.next, Next::Dispatch(_)) {
            break run.suspended().expect("in front of a processor");
        }
    };
    let resumed = Run::update(
        &run.image(),
        Document::parse("{}").expect("JSON"),
        Start::Resumed(suspended),
        TransactionId::NIL,
        Timestamp::from_micros(9),
    );
    let outcome = machine
        .drive(resumed, |_| Ok(processed(None)))
        .expect("settles")
        .finish();
    let [TimerChange::Arm(timer)] = &outcome.timers[..] else {
        panic!("one timer: {:?}", outcome.timers)
    };
    assert_eq!(
        (timer.kind, timer.transition.as_str(), timer.due.micros()),
        (TimerKind::Processor, "U", 5_002)
    );
}
