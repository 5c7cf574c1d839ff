//! What must hold of runs, whatever happened.
#![cfg(test)]

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fmt::Write as _,
    sync::Arc,
};

use serde_json::Value;

use super::{super::world::tenant, NAMESPACE, Notes, Stage, documents::LIVE_MAX};
use crate::clock::Timestamp;
use crate::error::Failure;
use crate::id::{ModelKey, RunId};
use crate::program::{
    EntityStep, EventKind, HistoryEvent, Kind, Program, StartedBy, Status, Step, Target, Waiting,
};
use crate::runtime::{
    Runtime,
    runs::{RunState, events},
};
use crate::storage::{RunsWanted, StoredRun, TopicKey, Version};

/// Everything that is stored of a run.
struct CheckedRun {
    stored: StoredRun,
    state: Arc<RunState>,
    history: Vec<HistoryEvent>,
    program: Arc<Program>,
}

/// All runs, the oldest first.
async fn stored_runs(runtime: &Runtime) -> Result<Vec<CheckedRun>, Failure> {
    let storage = runtime.storage();
    let mut all = Vec::new();
    let wanted = RunsWanted::default();
    for stored in storage.runs(&tenant(), &wanted, 100_000).await? {
        let state = runtime.run_state(&stored)?;
        let mut history = Vec::new();
        for advance in storage.run_events(stored.id, 0, 100_000).await? {
            history.extend(events(&advance.record)?);
        }
        let registry = &runtime.0.registry;
        let program = registry
            .program(&tenant(), NAMESPACE, &state.digest)
            .await?;
        all.push(CheckedRun {
            stored,
            state,
            history,
            program,
        });
    }
    all.reverse();
    Ok(all)
}

/// What is still to be done; none at rest.
pub(super) async fn busy(runtime: &Runtime) -> Option<String> {
    let all = match stored_runs(runtime).await {
        Ok(all) => all,
        Err(failure) => return Some(format!("not readable: {failure}")),
    };
    let by_name: HashMap<&str, &CheckedRun> =
        all.iter().map(|checked| (checked.id(), checked)).collect();
    for checked in &all {
        let run = &checked.state.run;
        let is_at_rest = run.status.is_end()
            || match &run.waiting {
                Some(Waiting::Signal { until, .. } | Waiting::Entity { until, .. }) => {
                    until.is_none()
                }
                // It answered `pending`, and nobody reports its outcome.
                Some(Waiting::Task {
                    accepted, until, ..
                }) => *accepted && until.is_none(),
                Some(Waiting::Child { run }) => by_name
                    .get(&**run)
                    .is_some_and(|child| !child.state.run.status.is_end()),
                Some(Waiting::Timer { .. }) | None => false,
            };
        if !is_at_rest {
            return Some(format!("{} {:?} {:?}", run.id, run.status, run.waiting));
        }
    }
    let topic = TopicKey::new(NAMESPACE, "orders");
    match runtime.storage().topic(&tenant(), &topic, 0, 100_000).await {
        Ok(found) => {
            let published = found.map_or(0, |(_, events)| events.len());
            let started = fed(&all).len();
            (started < published).then(|| format!("{started} of {published} events are read"))
        }
        Err(error) => Some(format!("not readable: {error}")),
    }
}

/// The numbers of the events by which the trigger has started runs.
fn fed(all: &[CheckedRun]) -> Vec<u64> {
    let by_trigger = |checked: &&CheckedRun| checked.state.run.started_by == StartedBy::Trigger;
    let inputs = all.iter().filter(by_trigger).map(CheckedRun::input);
    let mut numbers = Vec::new();
    for input in inputs {
        let events = match input.as_array() {
            Some(events) => events,
            None => std::slice::from_ref(&input),
        };
        numbers.extend(events.iter().filter_map(|event| event["n"].as_u64()));
    }
    numbers
}

/// Reads everything and holds it against what is known.
pub(super) async fn check(stage: &Stage, runtime: &Runtime) {
    let mut findings = Vec::new();
    if let Err(failure) = check_all(stage, runtime, &mut findings).await {
        findings.push(format!("not readable: {failure}"));
    }
    for finding in findings {
        stage.world.fail(finding);
    }
}

async fn check_all(
    stage: &Stage,
    runtime: &Runtime,
    findings: &mut Vec<String>,
) -> Result<(), Failure> {
    let all = stored_runs(runtime).await?;
    for checked in &all {
        stage.world.note(|_| checked.story());
        checked.check(findings);
    }
    related(&all, findings);
    schedule_is_kept(&all, findings);
    let topic = TopicKey::new(NAMESPACE, "orders");
    let found = runtime
        .storage()
        .topic(&tenant(), &topic, 0, 100_000)
        .await?;
    let made = entities(runtime, "e").await?;
    let written = entities(runtime, "w").await?;
    let moved = entities(runtime, "t").await?;
    let notes = stage.notes();
    let events = found.map(|(_, events)| events).unwrap_or_default();
    let numbers: Vec<u64> = events
        .iter()
        .filter_map(|event| event.id.as_deref()?.parse().ok())
        .collect();
    topic_is_as_published(&notes, &numbers, &fed(&all), findings);
    acknowledged_is_there(&notes, &all, findings);
    steps_made(&all, &made, findings);
    members_wrote(&notes, &all, &written, findings);
    transitions_started(&all, &moved, findings);
    Ok(())
}

/// The entities of a model that there are.
pub(in crate::runtime::simulation) async fn entities(
    runtime: &Runtime,
    model: &str,
) -> Result<Vec<Version>, Failure> {
    let storage = runtime.storage();
    let snapshot = storage.snapshot(&tenant(), storage.latest()).await?;
    let mut all = Vec::new();
    let key = ModelKey::new(model, 1);
    if let Some(definitions) = storage.definitions(&tenant(), &key).await? {
        let mut scan = snapshot.scan(&definitions);
        while let Some(mut part) = scan.next().await? {
            all.append(&mut part);
        }
    }
    Ok(all)
}

fn data(version: &Version) -> Value {
    serde_json::from_str(version.image.document.as_str()).expect("JSON")
}

impl CheckedRun {
    fn id(&self) -> &str {
        &self.state.run.id
    }

    fn input(&self) -> Value {
        let first = self.history.first().expect("an event");
        serde_json::from_str(first.payload()).expect("JSON")
    }

    /// Its story, for the trace.
    fn story(&self) -> String {
        let mut story = format!(
            "{} of {} {:?} {:?}",
            self.id(),
            self.stored.name.name,
            self.state.run.status,
            self.state.run.due(),
        );
        for event in &self.history {
            let at = event.at().millis();
            // The input of a run may have the id of an entity, which is another each time.
            let is_input = event.sequence == 1;
            let detail = if is_input { "" } else { &*event.detail };
            let _ = write!(story, "\n    {at} {} {detail}", event.kind.as_str());
        }
        story
    }

    fn step(&self, name: &str) -> Option<&Step> {
        if name == "start" && !self.program.steps.contains_key("start") {
            return self.program.entry.as_ref();
        }
        self.program.steps.get(name)
    }

    fn check(&self, findings: &mut Vec<String>) {
        let mut insist = |holds: bool, what: &str| {
            if !holds {
                findings.push(format!("{}: {what}", self.id()));
            }
        };
        let run = &self.state.run;
        let numbers = self.history.iter().map(|event| event.sequence);
        insist(
            numbers.eq(1..=run.sequence),
            "the history has gaps, or is not that of the run",
        );
        insist(
            self.history.is_sorted_by_key(|event| event.micros),
            "time goes back",
        );
        let ends = self.history.iter().filter(|event| is_end(event.kind));
        insist(
            ends.count() == usize::from(run.status.is_end()),
            "it ends once",
        );
        let last = self
            .history
            .iter()
            .rfind(|event| event.kind != EventKind::LateAnswer);
        insist(
            last.is_some_and(|last| is_end(last.kind)) == run.status.is_end(),
            "something follows its end",
        );
        let starts = [
            EventKind::WorkflowStarted,
            EventKind::ScheduleStarted,
            EventKind::TriggerStarted,
            EventKind::ChildStarted,
        ];
        let begun = self
            .history
            .iter()
            .map(|event| starts.contains(&event.kind));
        insist(
            begun.eq((0..self.history.len()).map(|at| at == 0)),
            "it begins once",
        );
        let entered = self
            .history
            .iter()
            .filter(|event| event.kind == EventKind::StepStarted);
        for event in entered {
            insist(
                self.step(&event.detail).is_some(),
                "a step is not one of its definition",
            );
        }
        self.check_tasks(&mut insist);
        self.check_signals(&mut insist);
    }

    /// Each task has one recorded end at most, before the next.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "of the others nothing is asked"
    )]
    fn check_tasks(&self, insist: &mut impl FnMut(bool, &str)) {
        let (mut is_out, mut sent) = (false, 0);
        for event in &self.history {
            match event.kind {
                EventKind::AwaitingAction => {
                    insist(!is_out, "two tasks are out at once");
                    is_out = true;
                    sent += 1;
                }
                EventKind::ActionCompleted | EventKind::ActionLost => is_out = false,
                EventKind::StepStarted => insist(!is_out, "it moves on without an answer"),
                _ => {}
            }
        }
        insist(sent == self.state.run.last_task(), "a task is not recorded");
        let run = &self.state.run;
        let is_stored = run.outstanding().is_some() || run.given_up().next().is_some();
        insist(
            self.stored.is_out == (is_stored || self.state.run.status == Status::Pending),
            "what is out is not stored as out",
        );
    }

    /// Each signal is taken once, the oldest of its type first; none times out early.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "of the others nothing is asked"
    )]
    fn check_signals(&self, insist: &mut impl FnMut(bool, &str)) {
        let mut waiting: BTreeMap<&str, u64> = BTreeMap::new();
        let (mut step, mut parked) = (None, None);
        for event in &self.history {
            match event.kind {
                EventKind::SignalReceived => *waiting.entry(&event.detail).or_default() += 1,
                EventKind::SignalMatched => {
                    let left = waiting.entry(&event.detail).or_default();
                    insist(*left > 0, "a signal is taken that is not there");
                    *left = left.saturating_sub(1);
                }
                EventKind::StepStarted => step = self.step(&event.detail),
                EventKind::WaitingForSignal => {
                    let left = waiting.get(&*event.detail).copied().unwrap_or_default();
                    insist(left == 0, "it waits for a signal that is there");
                    parked = Some(event.at());
                }
                EventKind::SignalTimeout => {
                    let limit = step.and_then(|step| match &step.kind {
                        Kind::Wait(wait) => wait.timeout,
                        Kind::Run { .. } | Kind::Saga(_) => None,
                    });
                    let due = parked.zip(limit).map(|(at, limit)| at.after(limit));
                    insist(
                        due.is_some_and(|due| due <= event.at()),
                        "a wait times out early",
                    );
                }
                _ => {}
            }
        }
        let left: u64 = waiting.values().sum();
        let kept = self.state.run.signals.len() as u64;
        insist(
            self.state.run.status.is_end() || left == kept,
            "signals are lost, or kept although they were taken",
        );
    }
}

const fn is_end(kind: EventKind) -> bool {
    matches!(
        kind,
        EventKind::WorkflowCompleted
            | EventKind::WorkflowFailed
            | EventKind::WorkflowCancelled
            | EventKind::WorkflowTimedOut
    )
}

/// Parents receive the ends of their children once, and leave none alive.
fn related(all: &[CheckedRun], findings: &mut Vec<String>) {
    let by_id: HashMap<RunId, &CheckedRun> = all
        .iter()
        .map(|checked| (checked.stored.id, checked))
        .collect();
    let by_name: HashMap<&str, &CheckedRun> =
        all.iter().map(|checked| (checked.id(), checked)).collect();
    let mut awaited = BTreeSet::new();
    for checked in all {
        let mut waits: Option<&CheckedRun> = None;
        for event in &checked.history {
            if event.kind == EventKind::AwaitingChild {
                waits = by_name.get(&*event.detail).copied();
                let is_its_child =
                    waits.is_some_and(|child| child.stored.parent == Some(checked.stored.id));
                if !is_its_child || !awaited.insert(event.detail.to_string()) {
                    findings.push(format!("{} awaits {}", checked.id(), event.detail));
                }
            } else if event.kind == EventKind::ChildCompleted {
                let is_right = waits.take().is_some_and(|child| {
                    let has_completed = child.state.run.status == Status::Completed;
                    child.state.run.status.is_end()
                        && (&*event.detail == "success") == has_completed
                });
                if !is_right {
                    findings.push(format!("{} got a wrong end of its child", checked.id()));
                }
            }
        }
        if waits.is_some_and(|child| child.state.run.status.is_end())
            && !checked.state.run.status.is_end()
        {
            findings.push(format!(
                "{} did not learn the end of its child",
                checked.id()
            ));
        }
        if let Some(parent) = checked.stored.parent {
            let parent = by_id.get(&parent);
            if parent.is_none_or(|parent| parent.state.run.status.is_end())
                && !checked.state.run.status.is_end()
            {
                findings.push(format!("{} lives on without its parent", checked.id()));
            }
        }
    }
    for checked in all {
        if checked.stored.parent.is_some() && !awaited.contains(checked.id()) {
            findings.push(format!("nobody awaits {}", checked.id()));
        }
    }
}

/// Never more than allowed, and one for each instant.
fn schedule_is_kept(all: &[CheckedRun], findings: &mut Vec<String>) {
    let by_schedule: Vec<&CheckedRun> = all
        .iter()
        .filter(|checked| checked.state.run.started_by == StartedBy::Schedule)
        .collect();
    let mut last: Option<Timestamp> = None;
    for checked in &by_schedule {
        let at = checked.stored.created;
        let is_live = |other: &&&CheckedRun| {
            other.stored.created < at && other.stored.ended.is_none_or(|ended| ended > at)
        };
        let live = by_schedule.iter().filter(is_live).count();
        if live >= LIVE_MAX {
            findings.push(format!(
                "the schedule has {live} live runs and starts {}",
                checked.id()
            ));
        }
        if last == Some(at) {
            findings.push(format!("the schedule starts two runs at {at}"));
        }
        last = Some(at);
    }
}

fn topic_is_as_published(
    notes: &Notes,
    events: &[u64],
    started: &[u64],
    findings: &mut Vec<String>,
) {
    let there: BTreeSet<u64> = events.iter().copied().collect();
    if there.len() != events.len() || !there.is_subset(&notes.published) {
        findings.push("an event is in the topic twice, or was not published".to_owned());
    }
    if !notes.acknowledged.is_subset(&there) {
        findings.push("an event that was acknowledged is lost".to_owned());
    }
    if started != events {
        findings.push(format!(
            "the topic has {events:?}, and runs were started by {started:?}"
        ));
    }
}

fn acknowledged_is_there(notes: &Notes, all: &[CheckedRun], findings: &mut Vec<String>) {
    let by_name: HashMap<&str, &CheckedRun> =
        all.iter().map(|checked| (checked.id(), checked)).collect();
    for run in &notes.runs {
        if !by_name.contains_key(&**run) {
            findings.push(format!("{run} was acknowledged and is lost"));
        }
    }
    for (run, kind, number) in &notes.signals {
        let payload = format!("{{\"s\":{number}}}");
        let times = by_name.get(&**run).map_or(0, |checked| {
            let is_it = |event: &&HistoryEvent| {
                event.kind == EventKind::SignalReceived
                    && *event.detail == **kind
                    && event.payload() == payload
            };
            checked.history.iter().filter(is_it).count()
        });
        if times != 1 {
            findings.push(format!("the signal {number} is {times} times in {run}"));
        }
    }
    for run in &notes.cancelled {
        let checked = by_name.get(&**run);
        if checked.is_none_or(|checked| checked.state.run.status != Status::Cancelled) {
            findings.push(format!("{run} was cancelled and is not"));
        }
    }
}

/// An entity for each step that has made one, and no other.
fn steps_made(all: &[CheckedRun], made: &[Version], findings: &mut Vec<String>) {
    let mut expected: BTreeMap<(String, String), usize> = BTreeMap::new();
    for checked in all {
        let mut at: Option<&HistoryEvent> = None;
        for event in &checked.history {
            if event.kind == EventKind::StepStarted {
                at = Some(event);
            }
            let (EventKind::ActionCompleted, "success", Some(step)) =
                (event.kind, &*event.detail, at)
            else {
                continue;
            };
            let creates = checked.step(&step.detail).is_some_and(|step| {
                matches!(
                    &step.kind,
                    Kind::Run {
                        target: Target::Entity(EntityStep::Create),
                        ..
                    }
                )
            });
            if creates {
                let key = (checked.id().to_owned(), step.detail.to_string());
                *expected.entry(key).or_default() += 1;
            }
        }
    }
    let mut found: BTreeMap<(String, String), usize> = BTreeMap::new();
    for version in made {
        let data = data(version);
        let text = |name: &str| data[name].as_str().expect("a text").to_owned();
        *found.entry((text("run"), text("step"))).or_default() += 1;
    }
    if expected != found {
        let missing: Vec<_> = expected
            .iter()
            .filter(|it| found.get(it.0) != Some(it.1))
            .collect();
        let more: Vec<_> = found
            .iter()
            .filter(|it| expected.get(it.0) != Some(it.1))
            .collect();
        findings.push(format!("steps recorded {missing:?} and left {more:?}"));
    }
}

/// What members wrote is there if their answer was recorded, and not otherwise.
fn members_wrote(
    notes: &Notes,
    all: &[CheckedRun],
    written: &[Version],
    findings: &mut Vec<String>,
) {
    let mut recorded = BTreeSet::new();
    for event in all.iter().flat_map(|checked| &checked.history) {
        if event.kind == EventKind::StepCompleted
            && let Some(rest) = event.payload().strip_prefix("{\"d\":")
            && let Some((number, _)) = rest.split_once(',')
        {
            recorded.insert(number.parse::<usize>().expect("a number"));
        }
    }
    let mut there = BTreeSet::new();
    for version in written {
        let number = data(version)["d"].as_u64().expect("a number");
        there.insert(usize::try_from(number).expect("small"));
    }
    for (number, delivery) in notes.deliveries.iter().enumerate() {
        let counts = recorded.contains(&number) && delivery.wrote.is_some();
        if counts && !there.contains(&number) {
            findings.push(format!(
                "what delivery {number} of {} wrote is lost",
                delivery.task
            ));
        }
        if !recorded.contains(&number) && there.contains(&number) {
            findings.push(format!(
                "delivery {number} of {} wrote without an answer",
                delivery.task
            ));
        }
    }
}

/// A transition that was taken has started one run.
fn transitions_started(all: &[CheckedRun], moved: &[Version], findings: &mut Vec<String>) {
    for version in moved {
        let id = version.image.id;
        let of_it = all.iter().filter(|checked| {
            checked.stored.entity == Some(id)
                && checked.state.run.started_by == StartedBy::Transition
        });
        let started = of_it.count();
        let taken = usize::from(version.image.state.as_str() == "GONE");
        if started != taken {
            findings.push(format!(
                "{id} was moved {taken} times and has {started} runs"
            ));
        }
    }
}
