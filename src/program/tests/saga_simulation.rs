//! Random sagas against a world that does what it is asked once for a key, and that refuses, delays,
//! forgets and repeats: what is left in it is all of a saga or nothing (`orchestration.md` 2.4).
//!
//! A crash may come before a commit, after which the arrival comes again, and after it. What is out
//! is lost then, before it was done or behind it, and is sent again by what is stored.
#![cfg(test)]

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    sync::Arc,
    time::Duration,
};

use proptest::prelude::*;

use crate::clock::Timestamp;
use crate::dialect::flo::generate::Chance;
use crate::expr::{Scope, Template};
use crate::program::{form::Name, machine::Doing, *};

/// What all calls have done.
#[derive(Default)]
struct Outside {
    /// What was answered, by key.
    known: BTreeMap<String, bool>,
    done: BTreeSet<Name>,
    undone: BTreeSet<Name>,
    /// The number of the task by which each key was sent, and its request.
    sent: BTreeMap<String, (u64, String)>,
    followed: Vec<Purpose>,
}

/// A call on its way: to the callee, or back.
#[derive(Clone)]
struct Delivery {
    task: Task,
    at: Timestamp,
    answer: Option<Answer>,
}

struct Simulated {
    chance: Chance,
    program: Program,
    now: Timestamp,
    /// The run as it was committed last.
    stored: String,
    history: Vec<HistoryEvent>,
    deliveries: Vec<Delivery>,
    outside: Outside,
    /// Whether storage may fail.
    is_rough: bool,
    crashes: usize,
    late: usize,
}

const CONNECTORS: [&str; 3] = ["http", "member", "entity"];

/// A call that reads these values.
fn call(connector: &str, operation: &str, value: &str) -> Call {
    let scope = Scope {
        steps: Some(&|_| true),
        has_error: true,
        has_columns: false,
    };
    let value = Template::of_text(value, &scope).expect("an expression");
    Call {
        connector: connector.into(),
        request: Template::Object(vec![
            ("operation".into(), Template::literal(operation)),
            ("payload".into(), value),
        ]),
    }
}

fn step(chance: &mut Chance, name: &str) -> SagaStep {
    let connector = *chance.pick(&CONNECTORS);
    let milliseconds = |some: usize| Duration::from_millis(some as u64);
    let pause = match chance.below(8) {
        0 | 1 => Some(Pause::Delay(milliseconds(chance.below(500)))),
        2 | 3 => Some(Pause::Signal {
            event: "go".into(),
            timeout: chance.one_in(2).then(|| milliseconds(chance.below(900))),
        }),
        _ => None,
    };
    SagaStep {
        pause,
        call: Some(call(connector, name, "input.n")),
        undo: Some(call(connector, name, &format!("step.{name}.n"))),
        skips_failure: chance.one_in(6),
        timeout: chance.one_in(4).then(|| milliseconds(chance.below(400))),
    }
}

impl Simulated {
    fn new(seed: u64) -> Self {
        let mut chance = Chance(seed);
        let names = &["a", "b", "c", "d", "e"][..=chance.below(5)];
        let steps: Vec<_> = names.iter().map(|name| step(&mut chance, name)).collect();
        let form = Saga {
            bundle: "digest".into(),
            order: names.iter().map(|name| (*name).into()).collect(),
            timeout: chance.one_in(4).then(|| Duration::from_millis(700)),
            on_complete: chance
                .one_in(2)
                .then(|| call("http", "on_complete", "input.n")),
            on_failure: chance
                .one_in(2)
                .then(|| call("http", "on_failure", "error.message")),
        };
        let program = Program::of_saga("s", "1", form, steps);
        let now = Timestamp::from_micros(1_000_000_000);
        let begin = Begin {
            id: "wf_1".into(),
            started_by: StartedBy::Caller,
            depth: 0,
            input: r#"{"n":7}"#.into(),
            now,
        };
        let (run, event) = Run::begin(begin, &program);
        Self {
            chance,
            program,
            now,
            stored: serde_json::to_string(&run).expect("JSON"),
            history: vec![event],
            deliveries: Vec::new(),
            outside: Outside::default(),
            is_rough: true,
            crashes: 0,
            late: 0,
        }
    }

    fn run(&self) -> Run {
        serde_json::from_str(&self.stored).expect("as stored")
    }

    fn later(&mut self, most: usize) -> Timestamp {
        let delay = self.chance.below(most) as u64;
        self.now.after(Duration::from_millis(delay))
    }

    /// Does what a call asks for, once for its key; its answer.
    fn act(&mut self, purpose: &Purpose) -> Answer {
        let outside = &mut self.outside;
        let refuses = match purpose {
            Purpose::Action(_) => self.chance.one_in(5),
            Purpose::Undo(_) => self.chance.one_in(20),
            Purpose::OnComplete | Purpose::OnFailure => false,
        };
        let key = purpose.to_string();
        let is_new = !outside.known.contains_key(&key);
        let is_done = *outside.known.entry(key).or_insert(!refuses);
        if is_new && is_done {
            match purpose {
                Purpose::Action(step) => {
                    outside.done.insert(step.clone());
                }
                Purpose::Undo(step) => {
                    assert!(outside.done.contains(step), "only what was done is undone");
                    outside.undone.insert(step.clone());
                }
                Purpose::OnComplete | Purpose::OnFailure => outside.followed.push(purpose.clone()),
            }
        }
        if !is_done {
            return outcome("failure", r#"{"error":"declined"}"#.to_owned());
        }
        let pad = "y".repeat(self.chance.below(3) * 900);
        outcome("success", format!("{{\"n\":7,\"pad\":\"{pad}\"}}"))
    }

    fn reply(&mut self, ask: &Ask, run: &Run, fresh: &[HistoryEvent]) -> Reply {
        match ask {
            Ask::Load(events) => {
                let load = |at: &u64| {
                    let mut all = self.history.iter().chain(fresh);
                    let event = all.find(|event| event.sequence == *at);
                    (*at, Arc::from(event.expect("an event").payload()))
                };
                Reply::Loaded(events.iter().map(load).collect())
            }
            Ask::Connector(name) => Reply::Connector(match &**name {
                "entity" => Reach::Here,
                "member" => Reach::Member {
                    timeout: Duration::from_mins(1),
                },
                _ => Reach::BuiltIn,
            }),
            Ask::CallConnector { .. } => {
                let Some(Doing::CalledConnector(purpose)) = &run.doing else {
                    panic!("no call: {:?}", run.doing);
                };
                Reply::Called(self.act(purpose))
            }
            other @ (Ask::Action(_)
            | Ask::Call { .. }
            | Ask::Child { .. }
            | Ask::Entity { .. }
            | Ask::Order { .. }
            | Ask::Permit { .. }) => panic!("a saga does not ask {other:?}"),
        }
    }

    /// Lets something arrive, with crashes; says whether it was taken.
    fn arrive(&mut self, arrival: &Arrival) -> Result<bool, Refusal> {
        loop {
            let mut run = self.run();
            let (mut history, mut effects) = (Vec::new(), Vec::new());
            let (mut next, mut taken) = (arrival.clone(), None);
            // What is done within the turn is part of its commit.
            let before = self.snapshot();
            let run = loop {
                let program = self.program.clone();
                let world = World {
                    program: &program,
                    now: self.now,
                    chance: 0,
                    limits: Limits::default(),
                    is_apart: false,
                    is_contended: false,
                    is_full: self.chance.one_in(8),
                };
                let turn = run.advance(next, &world)?;
                taken.get_or_insert(turn.taken);
                history.extend(turn.history);
                effects.extend(turn.effects);
                run = turn.run;
                match turn.next {
                    Next::Ask(ask) => next = Arrival::Replied(self.reply(&ask, &run, &history)),
                    Next::Park | Next::End => break run,
                }
            };
            if self.is_rough && self.chance.one_in(8) {
                self.crashes += 1;
                (self.outside.known, self.outside.done, self.outside.undone) = before;
                self.crash();
                continue;
            }
            self.history.extend(history);
            self.stored = serde_json::to_string(&run).expect("JSON");
            if self.is_rough && self.chance.one_in(8) {
                self.crash();
            } else {
                for effect in effects {
                    match effect {
                        Effect::Send(task) => self.send(&task),
                        // It is done nevertheless.
                        Effect::GiveUp { .. } | Effect::Log(_) => {}
                        other @ (Effect::CancelChild { .. }
                        | Effect::Record { .. }
                        | Effect::Keep { .. }) => panic!("a saga has no effect {other:?}"),
                    }
                }
            }
            return Ok(taken.expect("a turn"));
        }
    }

    fn snapshot(&self) -> (BTreeMap<String, bool>, BTreeSet<Name>, BTreeSet<Name>) {
        let Outside {
            known,
            done,
            undone,
            ..
        } = &self.outside;
        (known.clone(), done.clone(), undone.clone())
    }

    /// All that is out is lost, and what is stored as out is sent again.
    fn crash(&mut self) {
        self.crashes += 1;
        self.deliveries.clear();
        let run = self.run();
        let out: Vec<Task> = run
            .outstanding()
            .into_iter()
            .chain(run.given_up())
            .cloned()
            .collect();
        for task in &out {
            self.send(task);
        }
    }

    fn send(&mut self, task: &Task) {
        let purpose = task.purpose.as_ref().expect("a call");
        let Payload::Inline(request) = &task.input else {
            panic!("a request is stored with its run");
        };
        let sent = (task.ordinal, request.to_string());
        let known = self.outside.sent.entry(purpose.to_string());
        assert_eq!(*known.or_insert_with(|| sent.clone()), sent, "{purpose}");
        let at = self.later(400);
        self.deliveries.push(Delivery {
            task: task.clone(),
            at,
            answer: None,
        });
    }

    /// Plays until nothing happens any more.
    fn play(&mut self) -> Status {
        self.arrive(&Arrival::Start).expect("starts");
        for round in 0..400 {
            self.is_rough = round < 60;
            if self.chance.one_in(30) {
                let reason = "cancelled by user".into();
                let cancelled = self.arrive(&Arrival::Cancel { reason });
                assert!(cancelled.is_ok() || self.run().status.is_end());
            }
            let run = self.run();
            if matches!(run.waiting, Some(Waiting::Signal { .. })) && self.chance.one_in(2) {
                let arrival = Arrival::Signal {
                    kind: "go".into(),
                    payload: "{}".into(),
                };
                self.arrive(&arrival).expect("is awaited");
                continue;
            }
            let next = self.deliveries.iter().map(|delivery| delivery.at);
            // A run that has ended is not looked at for its time.
            let next = next.chain(run.due().filter(|_| !run.status.is_end())).min();
            let Some(next) = next else {
                if run.status.is_end() {
                    return run.status;
                }
                continue;
            };
            self.now = self.now.max(next);
            self.happen();
        }
        panic!("it never ends: {:?}", self.run());
    }

    /// What is due now happens.
    fn happen(&mut self) {
        let is_due = |delivery: &Delivery| delivery.at <= self.now;
        let Some(at) = self.deliveries.iter().position(is_due) else {
            self.arrive(&Arrival::Due { at: self.now }).expect("taken");
            return;
        };
        let mut delivery = self.deliveries[at].clone();
        let Some(answer) = delivery.answer.take() else {
            // Whether a member is waited for no longer, although it is at work.
            let gives_up = &*delivery.task.action == "member" && self.chance.one_in(10);
            let purpose = delivery.task.purpose.clone().expect("a call");
            let mut answer = self.act(&purpose);
            let is_done =
                matches!(&answer, Answer::Outcome { outcome, .. } if &**outcome == "success");
            if is_done && matches!(purpose, Purpose::Action(_)) && self.chance.one_in(10) {
                answer = Answer::Lost {
                    code: ANSWER_UNUSABLE.into(),
                    message: "too large".into(),
                };
            }
            let back = self.later(300);
            self.deliveries[at].answer = Some(answer);
            self.deliveries[at].at = back;
            if gives_up && matches!(purpose, Purpose::Action(_)) {
                let answer = match self.chance.below(2) {
                    0 => Answer::Deadline,
                    _ => Answer::Lost {
                        code: "COMPUTE_MEMBER_DISCONNECTED".into(),
                        message: "gone".into(),
                    },
                };
                self.answered(delivery.task.ordinal, answer);
            }
            return;
        };
        // An answer may come twice.
        if !self.chance.one_in(6) {
            self.deliveries.remove(at);
        }
        self.answered(delivery.task.ordinal, answer);
    }

    fn answered(&mut self, ordinal: u64, answer: Answer) {
        let before = self.history.len();
        let arrival = Arrival::Answered { ordinal, answer };
        self.arrive(&arrival).expect("is recorded");
        let is_late = |event: &HistoryEvent| event.kind == EventKind::LateAnswer;
        let fresh = &self.history[before..];
        let is_undone = fresh.iter().any(is_late) && fresh.len() > 1;
        self.late += usize::from(is_undone);
    }

    /// What must hold when nothing happens any more.
    fn check(&self) {
        let run = self.run();
        let story = || {
            let mut story = format!("{:#?}\n{:#?}\n", self.program, run.saga);
            for event in &self.history {
                let (kind, detail) = (event.kind.as_str(), &event.detail);
                let _ = writeln!(story, "{} {kind} {detail}", event.at().millis());
            }
            story
        };
        let saga = run.saga.as_ref().expect("a saga");
        assert!(run.given_up().next().is_none(), "{}", story());
        let Outside {
            done,
            undone,
            followed,
            ..
        } = &self.outside;
        for (name, form) in &self.program.steps {
            let Kind::Saga(form) = &form.kind else {
                panic!("a step of a saga");
            };
            let is_left = done.contains(name) && !undone.contains(name);
            let could_not = saga.errors.iter().any(|error| error.step == *name);
            let failed = run
                .results
                .get(name)
                .is_some_and(|result| &*result.outcome == "failure");
            let is_right = match run.status {
                // One that is skipped because its answer was late may have been done.
                Status::Completed => is_left || (form.skips_failure && failed),
                // `on_complete` has failed.
                Status::Failed if !saga.has_unwound => is_left || form.skips_failure,
                Status::Pending
                | Status::Running
                | Status::Waiting
                | Status::Failed
                | Status::Cancelled
                | Status::TimedOut => !is_left || could_not,
            };
            assert!(is_right, "{name}: {}", story());
        }
        assert!(followed.len() <= 2, "{}", story());
        let is_failure = matches!(run.status, Status::Failed | Status::TimedOut);
        assert_eq!(
            followed.contains(&Purpose::OnFailure),
            is_failure && self.form().on_failure.is_some(),
            "{}",
            story()
        );
        self.check_order(&story);
    }

    fn form(&self) -> &Saga {
        self.program.saga.as_ref().expect("a saga")
    }

    /// What has completed last is undone first, and once.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "of the others nothing is asked"
    )]
    fn check_order(&self, story: &impl Fn() -> String) {
        let (mut completed, mut passed) = (Vec::new(), BTreeSet::new());
        for event in &self.history {
            match event.kind {
                EventKind::StepCompleted | EventKind::StepSkipped => {
                    passed.remove(&event.detail);
                    completed.push(event.detail.clone());
                }
                EventKind::CompensationStarted => {
                    let step = &event.detail;
                    while let Some(newest) = completed.pop().filter(|newest| newest != step) {
                        passed.insert(newest);
                    }
                    assert!(!passed.contains(step), "{step}: {}", story());
                }
                _ => {}
            }
        }
    }
}

fn outcome(outcome: &str, output: String) -> Answer {
    Answer::Outcome {
        outcome: outcome.into(),
        output: output.into(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn a_saga_leaves_all_or_nothing_and_undoes_the_newest_first(seed in any::<u64>()) {
        let mut world = Simulated::new(seed);
        world.play();
        world.check();
    }
}

#[test]
fn sagas_that_have_failed_once_pass() {
    // A call succeeded while `on_failure` was called.
    let mut world = Simulated::new(10_079_553_612_743_816_420);
    world.play();
    world.check();
}

#[test]
fn the_simulation_of_sagas_reaches_every_end() {
    let (mut ends, mut crashes, mut late) = (BTreeMap::new(), 0, 0);
    for seed in 0..600 {
        let mut world = Simulated::new(seed);
        *ends.entry(world.play()).or_insert(0) += 1;
        world.check();
        crashes += world.crashes;
        late += world.late;
    }
    assert!(
        ends.len() == 4 && ends.values().all(|count| *count > 30),
        "{ends:?}"
    );
    assert!(crashes > 500 && late > 20, "{crashes} {late}");
}
