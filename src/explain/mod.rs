//! Why an entity did or did not move.
//!
//! May use: [`crate::id`], [`crate::dispatch`], [`crate::condition`], [`crate::workflow`],
//! [`crate::engine`].
//! Must not: change anything, or call a member. The past is read from a decision record; the future
//! is found by driving the engine as far as it goes without a member.

mod node;

use std::sync::Arc;

use crate::condition::{Condition, Facts, FunctionResults, Meter, Trace, Verdict};
use crate::dispatch::{Callee, TransitionContext};
use crate::engine::{
    self, Answered, Considered, Dispatch, DispatchRecord, Entry, Input, Next, Reason, Run,
    RunRecord, StartKind, World,
};
use crate::id::{StateName, TransitionName};
use crate::workflow::{Trigger, Workflow, WorkflowSet};

pub use node::Node;

/// One run, in the past or hypothetical.
#[derive(Debug)]
pub struct RunExplanation {
    pub start: StartKind,
    /// The requested transition.
    pub asked: Option<String>,
    /// The workflow that governs it, and why.
    pub workflow: Option<(String, &'static str)>,
    /// Workflows that do not match the entity.
    pub skipped: Vec<Guard>,
    pub steps: Vec<StepExplanation>,
    /// Where it ends.
    pub settled: Option<String>,
    /// Why it stops.
    pub stopped: Option<String>,
}

/// The decisions and calls in one state.
#[derive(Debug, Default)]
pub struct StepExplanation {
    pub state: Option<String>,
    pub considered: Vec<Guard>,
    /// Calls to members, and their results.
    pub calls: Vec<String>,
    /// The transition that was taken, and the state it led to.
    pub took: Option<(String, String)>,
}

/// A criterion and its result.
#[derive(Debug)]
pub struct Guard {
    /// The workflow or transition it guards.
    pub name: String,
    /// None if a member would have to decide.
    pub held: Option<bool>,
    pub criterion: Option<Node>,
    /// The leaf that decided, in words.
    pub because: Option<String>,
}

/// A transition out of a state.
#[derive(Debug)]
pub struct Way {
    pub guard: Guard,
    pub next: String,
    pub trigger: &'static str,
    /// Whether it could be requested by name now, and whether it would be taken automatically.
    pub open: Option<bool>,
    pub why: String,
}

/// Every transition out of a state, and whether it is open.
pub fn ways(
    workflow: &Workflow,
    state: &StateName,
    facts: Facts<'_>,
    meter: Option<&Meter<'_>>,
) -> Vec<Way> {
    let transitions = workflow
        .state(state)
        .map_or(&[][..], |state| &state.transitions);
    transitions
        .iter()
        .map(|transition| {
            let guard = guard(
                transition.name.as_str(),
                transition.criterion.as_ref(),
                facts,
                meter,
            );
            let (trigger, by) = match &transition.trigger {
                Trigger::Automated => (
                    "automated",
                    "taken by the next write, unless an earlier transition is taken",
                ),
                Trigger::Manual => ("manual", "taken when a request names it"),
                Trigger::Scheduled(_) => ("scheduled", "taken when it is due"),
                Trigger::Disabled => ("disabled", "never taken"),
            };
            let open = match transition.trigger {
                Trigger::Disabled => Some(false),
                Trigger::Automated | Trigger::Manual | Trigger::Scheduled(_) => guard.held,
            };
            let why = match (&transition.trigger, guard.held, &guard.because) {
                (Trigger::Disabled, ..) => "it is disabled".to_owned(),
                (_, Some(false), Some(because)) => {
                    format!("its criterion does not hold: {because}")
                }
                (_, Some(false), None) => "its criterion does not hold".to_owned(),
                (_, None, because) => {
                    format!("it depends on {}", because.as_deref().unwrap_or("a member"))
                }
                (_, Some(true), _) => by.to_owned(),
            };
            Way {
                guard,
                next: transition.next.to_string(),
                trigger,
                open,
                why,
            }
        })
        .collect()
}

fn guard(
    name: &str,
    criterion: Option<&Condition>,
    facts: Facts<'_>,
    meter: Option<&Meter<'_>>,
) -> Guard {
    let Some(criterion) = criterion else {
        return Guard {
            name: name.to_owned(),
            held: Some(true),
            criterion: None,
            because: None,
        };
    };
    let mut trace = Trace::default();
    let explanation = FunctionResults::new();
    let verdict = match meter {
        None => Ok(criterion.evaluate(facts, &explanation, Some(&mut trace))),
        Some(meter) => criterion.evaluate_within(facts, &explanation, Some(&mut trace), meter),
    };
    let (held, asked) = match verdict {
        Ok(Verdict::Holds) => (Some(true), None),
        Ok(Verdict::Fails) => (Some(false), None),
        Ok(Verdict::Asks(function)) => (
            None,
            Some(match &function.unknown {
                Some(unknown) => format!("unknown: {unknown}"),
                None => format!("function {}", function.name),
            }),
        ),
        Err(halt) => (None, Some(format!("evaluation stopped: {halt}"))),
    };
    let leaves = trace
        .outcomes
        .into_iter()
        .map(|outcome| (outcome.leaf, outcome.held, outcome.seen.map(String::from)));
    let node = Node::new(criterion, &leaves.collect::<Vec<_>>());
    Guard {
        name: name.to_owned(),
        held,
        because: asked.or_else(|| node.decisive(held?)),
        criterion: Some(node),
    }
}

/// What a run would do, as far as no member has to be asked.
pub fn foresee(run: Run, world: World<'_>) -> RunExplanation {
    let mut run = Box::new(run);
    let mut input = Input::Go;
    loop {
        // A failing step consumes its run.
        let before = run.clone();
        match engine::step(run, input, world, &mut Vec::new()) {
            Err(error) => {
                let mut explanation =
                    explain_run(&before.finish().record, world.workflows, |_| None);
                explanation.stopped = Some(error.to_string());
                return explanation;
            }
            Ok(step) => {
                run = step.run;
                input = match step.next {
                    Next::Go => Input::Go,
                    // It changes nothing of the entity.
                    Next::OnRuns(call) => Input::Answered(Box::new(Answered::of_runs(&call, 0))),
                    Next::Settled => {
                        return explain_run(&run.finish().record, world.workflows, |_| None);
                    }
                    Next::Dispatch(call) => {
                        let mut explanation =
                            explain_run(&run.finish().record, world.workflows, |_| None);
                        explanation.stop_at(&call);
                        return explanation;
                    }
                };
            }
        }
    }
}

impl RunExplanation {
    /// Leaves out what is about other transitions.
    pub fn keep(&mut self, transition: &TransitionName) {
        let is_it = |name: &str| name == transition.as_str();
        for step in &mut self.steps {
            step.considered.retain(|guard| is_it(&guard.name));
        }
        self.steps.retain(|step| {
            !step.considered.is_empty() || step.took.as_ref().is_some_and(|(name, _)| is_it(name))
        });
    }

    /// No member is called, so the run stops at the call.
    fn stop_at(&mut self, call: &Dispatch) {
        let name = call.callee.name();
        let mut what = match &call.callee {
            Callee::Processor(_) => format!("processor {name} would be called"),
            Callee::Criterion { .. } => format!("it depends on function {name}"),
            Callee::Schedule(_) => {
                format!("function {name} would compute when a transition is due")
            }
        };
        if let Some(TransitionContext {
            transition,
            from,
            to,
        }) = &call.transition_context
        {
            what = format!("on transition {transition} to {to}, {what}");
            match self.steps.last_mut() {
                Some(step) if step.took.is_none() => step.state = Some(from.to_string()),
                Some(_) | None => self.steps.push(StepExplanation {
                    state: Some(from.to_string()),
                    ..StepExplanation::default()
                }),
            }
        }
        self.stopped = Some(what);
    }
}

/// The content of a record, with the criteria of the workflows it names by hash, or else of those
/// in force.
pub fn explain_run(
    record: &RunRecord,
    workflows: &WorkflowSet,
    find: impl Fn(&str) -> Option<Arc<Workflow>>,
) -> RunExplanation {
    let named = |name: &str| {
        workflows
            .entries
            .iter()
            .map(|entry| Arc::clone(&entry.workflow))
            .find(|workflow| workflow.name.as_str() == name)
            .or_else(|| Some(Workflow::built_in()).filter(|it| it.name.as_str() == name))
    };
    let mut explanation = RunExplanation {
        start: record.start,
        asked: record.asked.clone(),
        workflow: None,
        skipped: Vec::new(),
        steps: Vec::new(),
        settled: None,
        stopped: None,
    };
    let mut governing: Option<Arc<Workflow>> = None;
    let mut step = StepExplanation::default();
    for (index, entry) in record.entries.iter().enumerate() {
        match entry {
            Entry::Skipped(considered) => {
                let workflow = named(&considered.name);
                let criterion = workflow.as_ref().and_then(|it| it.criterion.as_ref());
                explanation.skipped.push(past(considered, criterion));
            }
            Entry::Chosen {
                workflow,
                hash,
                why,
            } => {
                governing = find(hash).or_else(|| named(workflow));
                explanation.workflow = Some((workflow.clone(), because(why)));
            }
            Entry::Ungoverned { state } => {
                explanation.settled = Some(state.clone());
                explanation.stopped = Some(format!("no workflow contains state {state}"));
            }
            Entry::Considered(considered) => {
                let state = state_at(&record.entries[index..]);
                let workflow = governing.as_ref();
                let criterion = workflow
                    .zip(state.as_deref())
                    .and_then(|(workflow, state)| {
                        let transition = considered.name.as_str().into();
                        let state = workflow.state(&state.into())?;
                        state.transition(&transition)?.criterion.as_ref()
                    });
                step.considered.push(past(considered, criterion));
            }
            Entry::Called(call) => {
                step.calls.push(called(call));
            }
            Entry::Moved {
                transition,
                from,
                to,
            } => {
                step.state = Some(from.clone());
                step.took = Some((transition.clone(), to.clone()));
                explanation.steps.push(std::mem::take(&mut step));
            }
            Entry::Settled { state } => {
                step.state = Some(state.clone());
                explanation.settled = Some(state.clone());
            }
            Entry::Expired { transition, .. } => {
                explanation.stopped = Some(format!(
                    "transition {transition} expired, because it was too late"
                ));
            }
            Entry::Declined { transition, state } => {
                step.state = Some(state.clone());
                explanation.stopped = Some(format!(
                    "transition {transition} was due and its criterion did not match"
                ));
            }
            Entry::Aborted { expected, .. } => {
                explanation.stopped = Some(format!(
                    "`ifMatch` named transaction {expected}, which did not write the newest version"
                ));
            }
            Entry::Fired { .. }
            | Entry::Armed { .. }
            | Entry::Cancelled { .. }
            | Entry::Parted { .. } => {}
        }
    }
    if !step.considered.is_empty() || !step.calls.is_empty() || step.state.is_some() {
        explanation.steps.push(step);
    }
    explanation
}

fn called(call: &DispatchRecord) -> String {
    let explanation = match (&call.failure, call.mode.as_deref()) {
        (Some(failure), _) => failure.clone(),
        (None, Some("RUN")) => format!("a run started by processor {}", call.name),
        (None, Some("SIGNAL")) => format!("a signal sent by processor {}", call.name),
        (None, _) => format!("{} succeeded", call.name),
    };
    match call.attempts {
        0 | 1 => explanation,
        attempts => format!("{explanation} ({attempts} attempts)"),
    }
}

/// The state in which the first of these entries was recorded.
fn state_at(entries: &[Entry]) -> Option<String> {
    entries.iter().find_map(|entry| match entry {
        Entry::Moved { from: state, .. }
        | Entry::Settled { state }
        | Entry::Ungoverned { state }
        | Entry::Expired { state, .. }
        | Entry::Declined { state, .. }
        | Entry::Parted { state }
        | Entry::Aborted { state, .. } => Some(state.clone()),
        Entry::Skipped(_)
        | Entry::Chosen { .. }
        | Entry::Considered(_)
        | Entry::Called(_)
        | Entry::Fired { .. }
        | Entry::Armed { .. }
        | Entry::Cancelled { .. } => None,
    })
}

const fn because(why: &Reason) -> &'static str {
    match why {
        Reason::Matched(_) => "it is the first that matches the entity",
        Reason::NoneImported => "no workflow was imported",
        Reason::NoneMatched => "no imported workflow matches the entity",
        Reason::HasState => "it contains the state of the entity",
    }
}

/// A recorded criterion; its definition may no longer exist.
fn past(considered: &Considered, criterion: Option<&Condition>) -> Guard {
    let leaves: Vec<_> = considered
        .leaves
        .iter()
        .map(|leaf| (leaf.0, leaf.1, leaf.2.clone()))
        .collect();
    let node = criterion.map(|criterion| Node::new(criterion, &leaves));
    Guard {
        name: considered.name.clone(),
        held: Some(considered.held),
        because: considered
            .reason
            .clone()
            .or_else(|| node.as_ref()?.decisive(considered.held)),
        criterion: node,
    }
}
