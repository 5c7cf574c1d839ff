//! One decision.

use std::sync::Arc;

use super::{
    Answered, Call, CallError, Error, Input, Next, ProcessorFailure, Run, Start, Step, World,
    record::{Considered, Entry, Reason},
    run::{Cascade, Phase},
};
use crate::condition::{Condition, Trace};
use crate::id::TransitionName;
use crate::workflow::{Transition, Trigger, Workflow};

/// Advances `run` by one `input`.
pub fn step(mut run: Run, input: Input, world: World<'_>) -> Result<Step, Error> {
    let phase = std::mem::replace(&mut run.phase, Phase::Settled);
    match (phase, input) {
        (Phase::Starting(start), Input::Go) => start_run(run, start, world),
        (Phase::Cascading(cascade), Input::Go) => cascade_on(run, cascade, world),
        (
            Phase::Taking {
                cascade,
                transition,
                processor,
            },
            Input::Go,
        ) => take(run, cascade, transition, processor),
        (
            Phase::Calling {
                cascade,
                transition,
                processor,
            },
            Input::Answered(answered),
        ) => {
            absorb(&mut run, &cascade, transition, processor, answered)?;
            let processor = processor + 1;
            go(
                run,
                Phase::Taking {
                    cascade,
                    transition,
                    processor,
                },
            )
        }
        (Phase::Settled, Input::Go) => Ok(Step {
            run,
            next: Next::Settled,
        }),
        (Phase::Calling { .. }, Input::Go) => Err(Error::Misfit("no answer to a call that is out")),
        (
            Phase::Starting(_) | Phase::Cascading(_) | Phase::Taking { .. } | Phase::Settled,
            Input::Answered(_),
        ) => Err(Error::Misfit("an answer without a call")),
    }
}

#[expect(clippy::unnecessary_wraps, reason = "it is what a step answers")]
fn go(mut run: Run, phase: Phase) -> Result<Step, Error> {
    run.phase = phase;
    Ok(Step {
        run,
        next: Next::Go,
    })
}

fn start_run(mut run: Run, start: Start, world: World<'_>) -> Result<Step, Error> {
    match start {
        Start::Create => {
            let workflow = choose(&mut run, world);
            run.state = workflow.initial.clone();
            go(run, Phase::Cascading(Cascade::new(workflow)))
        }
        Start::Loopback => match govern(&mut run, world) {
            Some(workflow) => go(run, Phase::Cascading(Cascade::new(workflow))),
            None => settle(run),
        },
        Start::Named(name) => {
            let workflow =
                govern(&mut run, world).ok_or_else(|| Error::NoWorkflow(run.state.clone()))?;
            let transition = named(&run, &workflow, &name)?;
            let cascade = Cascade::new(workflow);
            let guard = cascade
                .transition(&run.state, transition)
                .and_then(|transition| transition.criterion.as_ref());
            let considered = guard.map(|guard| consider(&run, guard, name.as_str(), world));
            let held = considered.as_ref().is_none_or(|considered| considered.held);
            run.record.entries.extend(considered.map(Entry::Considered));
            if !held {
                return Err(Error::NotMatched(name));
            }
            go(
                run,
                Phase::Taking {
                    cascade,
                    transition,
                    processor: 0,
                },
            )
        }
    }
}

/// `workflow-engine.md` §7.1: the first active workflow whose criterion holds, else the built-in.
fn choose(run: &mut Run, world: World<'_>) -> Arc<Workflow> {
    for workflow in world.workflows.active() {
        let considered = workflow
            .criterion
            .as_ref()
            .map(|criterion| consider(run, criterion, workflow.name.as_str(), world));
        match considered {
            Some(considered) if !considered.held => run.note(Entry::Skipped(considered)),
            considered => {
                let leaves = considered.map_or_else(Vec::new, |considered| considered.leaves);
                run.chosen = Some(workflow.name.clone());
                note_chosen(run, workflow, Reason::Matched(leaves));
                return Arc::clone(workflow);
            }
        }
    }
    let model = &run.subject.model;
    let (warning, why) = if world.workflows.entries.is_empty() {
        (
            format!("no workflows imported for model {model}; the built-in one is used"),
            Reason::NoneImported,
        )
    } else {
        (
            format!(
                "no imported workflow matched entity {}; the built-in one is used",
                run.subject.id
            ),
            Reason::NoneMatched,
        )
    };
    run.warnings.push(warning);
    let workflow = Workflow::built_in();
    note_chosen(run, &workflow, why);
    workflow
}

fn govern(run: &mut Run, world: World<'_>) -> Option<Arc<Workflow>> {
    let workflow = world.workflows.govern(run.chosen.as_ref(), &run.state);
    match &workflow {
        Some(workflow) => note_chosen(run, workflow, Reason::HasState),
        None => run.note(Entry::Ungoverned {
            state: run.state.to_string(),
        }),
    }
    workflow
}

fn note_chosen(run: &mut Run, workflow: &Workflow, why: Reason) {
    run.note(Entry::Chosen {
        workflow: workflow.name.to_string(),
        hash: workflow.definition.hash.to_string(),
        why,
    });
}

fn consider(run: &Run, condition: &Condition, name: &str, world: World<'_>) -> Considered {
    let mut trace = Trace::default();
    let held = condition.holds(run.facts(world.schema), Some(&mut trace));
    Considered::new(name, held, trace)
}

/// `workflow-engine.md` §7.5: which transition a name means here.
fn named(run: &Run, workflow: &Workflow, name: &TransitionName) -> Result<usize, Error> {
    let transitions = workflow
        .state(&run.state)
        .map_or(&[][..], |state| &state.transitions);
    let fault = |why| Error::TransitionNotFound {
        transition: name.clone(),
        state: run.state.clone(),
        why,
        known: transitions
            .iter()
            .filter(|transition| transition.trigger != Trigger::Disabled)
            .map(|transition| transition.name.clone())
            .collect(),
    };
    match transitions
        .iter()
        .position(|transition| transition.name == *name)
    {
        Some(index) if transitions[index].trigger == Trigger::Disabled => Err(fault("is disabled")),
        Some(index) => Ok(index),
        None => Err(fault("is not defined")),
    }
}

/// `workflow-engine.md` §7.6: the first automated transition whose guard holds, within limits.
fn cascade_on(mut run: Run, mut cascade: Cascade, world: World<'_>) -> Result<Step, Error> {
    if cascade.steps == world.limits.depth {
        return Err(Error::TooDeep {
            state: run.state,
            limit: world.limits.depth,
        });
    }
    cascade.steps += 1;
    let visits = cascade.visits.entry(run.state.clone()).or_default();
    *visits += 1;
    if *visits > world.limits.state_visits {
        return Err(Error::TooManyVisits {
            state: run.state,
            visits: *visits,
            limit: world.limits.state_visits,
        });
    }
    let transitions = cascade
        .state(&run.state)
        .map_or(&[][..], |state| &state.transitions);
    for (index, transition) in transitions.iter().enumerate() {
        if transition.trigger != Trigger::Automated {
            continue;
        }
        if fires(&mut run, transition, world) {
            return go(
                run,
                Phase::Taking {
                    cascade,
                    transition: index,
                    processor: 0,
                },
            );
        }
    }
    settle(run)
}

fn fires(run: &mut Run, transition: &Transition, world: World<'_>) -> bool {
    let Some(guard) = transition.criterion.as_ref() else {
        return true;
    };
    let considered = consider(run, guard, transition.name.as_str(), world);
    let held = considered.held;
    run.note(Entry::Considered(considered));
    held
}

/// Calls the next processor of a transition, or moves once there is none left.
fn take(
    mut run: Run,
    cascade: Cascade,
    transition: usize,
    processor: usize,
) -> Result<Step, Error> {
    let taken = cascade
        .transition(&run.state, transition)
        .ok_or(Error::Misfit("a transition that is not there"))?;
    if let Some(next) = taken.processors.get(processor) {
        let call = Call {
            processor: next.name.clone(),
            settings: next.call.clone(),
            workflow: cascade.workflow.name.clone(),
            transition: taken.name.clone(),
            from: run.state.clone(),
            to: taken.next.clone(),
        };
        run.phase = Phase::Calling {
            cascade,
            transition,
            processor,
        };
        return Ok(Step {
            run,
            next: Next::Call(Box::new(call)),
        });
    }
    let to = taken.next.clone();
    let entry = Entry::Moved {
        transition: taken.name.to_string(),
        from: run.state.to_string(),
        to: to.to_string(),
    };
    run.note(entry);
    run.state = to;
    go(run, Phase::Cascading(cascade))
}

/// Takes in what a processor answered (`workflow-engine.md` §6.2, mode `SYNC`).
fn absorb(
    run: &mut Run,
    cascade: &Cascade,
    transition: usize,
    processor: usize,
    answered: Answered,
) -> Result<(), Error> {
    let name = cascade
        .transition(&run.state, transition)
        .and_then(|transition| transition.processors.get(processor))
        .map(|processor| processor.name.clone())
        .ok_or(Error::Misfit("an answer to a processor that is not there"))?;
    let mut warn = |warnings: Vec<String>| {
        run.warnings.extend(
            warnings
                .into_iter()
                .map(|text| format!("processor {name}: {text}")),
        );
    };
    match answered.result {
        Ok(answer) => {
            warn(answer.warnings);
            if let Some(document) = answer.document {
                run.document = document;
            }
            run.note(Entry::Called(answered.record));
            Ok(())
        }
        Err(CallError::Rejected { message, .. }) => Err(Error::Processor {
            processor: name,
            failure: ProcessorFailure::Rejected(message),
        }),
        Err(CallError::TimedOut { after_ms }) => Err(Error::TimedOut { after_ms }),
        Err(CallError::Disconnected) => Err(Error::Disconnected),
        Err(CallError::NoMember { tags }) => Err(Error::NoMember { tags }),
    }
}

#[expect(clippy::unnecessary_wraps, reason = "it is what a step answers")]
fn settle(mut run: Run) -> Result<Step, Error> {
    let state = run.state.to_string();
    run.note(Entry::Settled { state });
    run.phase = Phase::Settled;
    Ok(Step {
        run,
        next: Next::Settled,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::clock::Timestamp;
    use crate::engine::{Answer, CallRecord, Limits, Subject};
    use crate::entity::Document;
    use crate::error::{Code, Coded as _};
    use crate::id::{EntityId, ModelKey, TransactionId};
    use crate::model::Schema;
    use crate::workflow::{ImportMode, WorkflowSet};

    struct Machine {
        workflows: WorkflowSet,
        schema: Schema,
    }

    impl Machine {
        fn of(definitions: &[&str]) -> Self {
            let workflows = definitions
                .iter()
                .map(|definition| Arc::new(Workflow::parse(definition).expect(definition).workflow))
                .collect();
            Self {
                workflows: WorkflowSet::default().import(ImportMode::Merge, workflows),
                schema: Schema::default(),
            }
        }

        fn world(&self) -> World<'_> {
            World {
                workflows: &self.workflows,
                schema: &self.schema,
                limits: Limits::default(),
            }
        }

        /// Drives a run to its end; processors answer with what `answer` says.
        fn drive(
            &self,
            mut run: Run,
            mut answer: impl FnMut(&Call) -> Result<Answer, CallError>,
        ) -> Result<Run, Error> {
            let mut input = Input::Go;
            loop {
                let step = step(run, input, self.world())?;
                run = step.run;
                input = match step.next {
                    Next::Go => Input::Go,
                    Next::Settled => return Ok(run),
                    Next::Call(call) => Input::Answered(Answered {
                        result: answer(&call),
                        record: CallRecord::default(),
                    }),
                };
            }
        }

        fn create(&self, json: &str) -> Result<Run, Error> {
            self.drive(create(json), |_| Ok(Answer::default()))
        }

        fn update(&self, base: &Run, json: &str, asked: Option<&str>) -> Result<Run, Error> {
            let document = Document::parse(json).expect(json);
            let now = Timestamp::from_micros(2);
            let run = Run::update(
                &base.image(),
                document,
                asked.map(Into::into),
                TransactionId::NIL,
                now,
            );
            self.drive(run, |_| Ok(Answer::default()))
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

    const FLAG: &str =
        r#"{"type":"simple","jsonPath":"$.ok","operatorType":"EQUALS","value":true}"#;

    fn two_states(members: &str) -> String {
        format!(
            r#"{{"name":"w","initialState":"A","states":{{"A":{{"transitions":[{{"name":"T","next":"B",{members}}}]}},"B":{{}}}}}}"#
        )
    }

    #[test]
    fn without_workflows_the_built_in_one_governs() {
        let run = Machine::of(&[]).create("{}").expect("settles");
        assert_eq!(run.image().state.as_str(), "CREATED");
        assert_eq!(run.image().transition_for_latest_save(), "loopback");
        assert!(run.warnings[0].starts_with("no workflows imported for model"));
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
        let only = Machine::of(&[&guarded]).create("{}").expect("settles");
        assert_eq!(only.image().state.as_str(), "CREATED");
        assert!(only.warnings[0].starts_with("no imported workflow matched entity"));
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
            called.push(format!("{} {}->{}", call.processor, call.from, call.to));
            let document =
                Document::parse(&format!(r#"{{"by":"{}"}}"#, call.processor)).expect("JSON");
            Ok(Answer {
                document: Some(document),
                warnings: vec!["careful".to_owned()],
            })
        });
        let run = run.expect("settles");
        assert_eq!(called, ["p A->B", "q A->B"]);
        assert_eq!(run.image().document.as_str(), r#"{"by":"q"}"#);
        assert_eq!(
            run.warnings,
            ["processor p: careful", "processor q: careful"]
        );
    }

    #[test]
    fn a_failing_call_fails_the_run_with_its_code() {
        let machine = Machine::of(&[&two_states(
            r#""manual":false,"processors":[{"name":"p","executionMode":"SYNC"}]"#,
        )]);
        for (failure, code, told) in [
            (
                CallError::Rejected {
                    message: "no stock".to_owned(),
                    warnings: vec![],
                },
                Code::WorkflowFailed,
                "processor p failed: processor dispatch failed: no stock",
            ),
            (
                CallError::TimedOut { after_ms: 7 },
                Code::WorkflowFailed,
                "DISPATCH_TIMEOUT: processor dispatch timed out after 7ms",
            ),
            (
                CallError::Disconnected,
                Code::ComputeMemberDisconnected,
                "compute member disconnected during processor dispatch",
            ),
            (
                CallError::NoMember {
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
            assert!(error.to_string().starts_with(told), "{error}");
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
            (Code::WorkflowFailed, "no workflow contains state `A`")
        );
    }

    #[test]
    fn answers_and_calls_must_fit() {
        let machine = Machine::of(&[]);
        let answered = Input::Answered(Answered {
            result: Ok(Answer::default()),
            record: CallRecord::default(),
        });
        assert_eq!(
            step(create("{}"), answered, machine.world())
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
                    Ok(Answer { document: Some(Document::parse(&format!(r#"{{"ok":{ok}}}"#)).expect("JSON")), warnings: vec![] })
                })
            };
            match drive() {
                Ok(run) => {
                    let image = run.image();
                    let state = machine.workflows.entries[0].workflow.state(&image.state).expect("a state of the workflow");
                    let stable = state.transitions.iter().all(|transition| {
                        transition.trigger != Trigger::Automated || transition.criterion.as_ref()
                            .is_some_and(|guard| !guard.holds(run.facts(&machine.schema), None))
                    });
                    prop_assert!(stable);
                    // The same answers give the same run.
                    prop_assert_eq!(drive().expect("settles again").into_record(), run.into_record());
                }
                Err(error) => prop_assert!(matches!(error, Error::TooManyVisits { .. } | Error::TooDeep { .. }), "{}", error),
            }
        }
    }
}
