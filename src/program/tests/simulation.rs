//! Random documents, outcomes, signals and crashes, in virtual time.
//!
//! A crash may come before a commit, after which the arrival comes again, and after it, before its
//! effects: then the run is read from what was stored and its task is sent again.
#![cfg(test)]

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
    time::Duration,
};

use proptest::prelude::*;

use crate::clock::Timestamp;
use crate::dialect::flo::{
    Document,
    generate::{ACTIONS, Chance, OUTCOMES, SIGNALS, document},
};
use crate::program::*;

/// What is stored, what is out, and what has happened.
struct Simulated {
    chance: Chance,
    program: Program,
    now: Timestamp,
    /// The run as it was committed last.
    stored: String,
    history: Vec<HistoryEvent>,
    /// The deliveries that have not been answered, and when they will be.
    deliveries: Vec<(Task, Timestamp)>,
    /// The input of every task that was sent.
    inputs: HashMap<u64, String>,
    children: Vec<(Box<str>, Timestamp)>,
    signals_sent: usize,
    signals_matched: usize,
    /// The ordinals whose answer was taken.
    answered: BTreeSet<u64>,
    crashes: usize,
}

impl Simulated {
    fn new(seed: u64) -> Self {
        let mut chance = Chance(seed);
        let text = document(&mut chance).to_string();
        let (read, findings) = Document::read_in(None, text.as_bytes());
        let compiled = read.unwrap_or_else(|| panic!("{findings}")).compile();
        // What is stored is the form.
        let form = serde_json::to_string(&compiled).expect("JSON");
        let program: Program = serde_json::from_str(&form).expect("as stored");
        assert_eq!(program, compiled);
        let now = Timestamp::from_micros(1_000_000_000);
        let pad = "x".repeat(chance.below(2) * 2_000);
        let begin = Begin {
            id: "wfrun-1".into(),
            started_by: StartedBy::Caller,
            depth: 0,
            input: format!("{{\"n\":{},\"pad\":\"{pad}\"}}", chance.below(9)).into(),
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
            inputs: HashMap::new(),
            children: Vec::new(),
            signals_sent: 0,
            signals_matched: 0,
            answered: BTreeSet::new(),
            crashes: 0,
        }
    }

    fn run(&self) -> Run {
        serde_json::from_str(&self.stored).expect("as stored")
    }

    fn text(&self, payload: &Payload) -> String {
        match payload {
            Payload::Inline(text) => text.to_string(),
            Payload::At(at) => self.history[usize::try_from(at - 1).expect("small")]
                .payload()
                .to_owned(),
        }
    }

    fn reply(&mut self, ask: &Ask, uncommitted: &[HistoryEvent]) -> Reply {
        match ask {
            Ask::Load(events) => Reply::Loaded(
                events
                    .iter()
                    .map(|at| {
                        let event = self
                            .history
                            .iter()
                            .chain(uncommitted)
                            .find(|event| event.sequence == *at);
                        (*at, Arc::from(event.expect("an event").payload()))
                    })
                    .collect(),
            ),
            Ask::Action(name) => Reply::Action(match &**name {
                "missing" => Availability::Missing,
                _ if self.chance.one_in(20) => Availability::Disabled,
                _ if self.chance.one_in(5) => Availability::Here,
                _ => Availability::Ready {
                    timeout: Some(Duration::from_millis(200)),
                },
            }),
            Ask::Call { .. } => Reply::Called(match self.chance.below(4) {
                0 => Answer::Deadline,
                1 => Answer::Lost {
                    code: "TRAP".into(),
                    message: "unreachable".into(),
                },
                _ => Answer::Outcome {
                    outcome: (*self.chance.pick(&["success", "failure", "pending"])).into(),
                    output: "{\"n\":1}".into(),
                },
            }),
            Ask::Child { .. } => Reply::Child(match self.chance.below(4) {
                0 => StartedChild::Missing,
                1 => StartedChild::Disabled,
                _ => StartedChild::Started {
                    run: format!("wfrun-c{}", self.chance.number()).into(),
                },
            }),
            Ask::Order { plan, cache_key } => {
                Reply::Order(if cache_key.is_some() && self.chance.one_in(4) {
                    Chosen::Cached {
                        output: "{\"cached\":true}".into(),
                    }
                } else {
                    Chosen::Executors(
                        self.program.plans[plan]
                            .executors
                            .iter()
                            .map(|executor| executor.name.clone())
                            .collect(),
                    )
                })
            }
            Ask::Permit { .. } => Reply::Permit(*self.chance.pick(&[
                Permit::Granted,
                Permit::Granted,
                Permit::Granted,
                Permit::Open,
                Permit::Limited,
            ])),
            Ask::Entity { .. } => panic!("no document has steps of entities"),
            Ask::Connector(_) | Ask::CallConnector { .. } => panic!("no document is a saga"),
        }
    }

    /// Lets something arrive, with crashes; says whether it was taken.
    fn arrive(&mut self, arrival: &Arrival) -> Result<bool, Refusal> {
        loop {
            let mut run = self.run();
            let before = (run.due(), run.status, run.sequence);
            let (mut history, mut effects) = (Vec::new(), Vec::new());
            let mut next = arrival.clone();
            let mut taken = None;
            let (run, ended) = loop {
                let program = self.program.clone();
                let world = World {
                    program: &program,
                    now: self.now,
                    chance: self.chance.number(),
                    limits: Limits::default(),
                    is_apart: false,
                    is_contended: false,
                    is_full: self.chance.one_in(8),
                };
                let turn = run.advance(next, &world)?;
                taken.get_or_insert(turn.taken);
                history.extend(turn.history);
                effects.extend(turn.effects);
                match turn.next {
                    Next::Ask(ask) => {
                        next = Arrival::Replied(self.reply(&ask, &history));
                        run = turn.run;
                    }
                    Next::Park => break (turn.run, false),
                    Next::End => break (turn.run, true),
                }
            };
            let taken = taken.expect("a turn");
            // A crash before the commit: as if nothing had happened.
            if self.chance.one_in(6) {
                self.crashes += 1;
                continue;
            }
            self.check_commit(arrival, before, &run, &history, taken, ended);
            self.history.extend(history);
            self.stored = serde_json::to_string(&run).expect("JSON");
            // A crash after the commit, before its effects: what is out is sent again.
            if self.chance.one_in(6) {
                self.crash();
            } else {
                self.follow(effects);
            }
            return Ok(taken);
        }
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "of the others nothing is asked"
    )]
    fn check_commit(
        &mut self,
        arrival: &Arrival,
        before: (Option<Timestamp>, Status, u64),
        run: &Run,
        history: &[HistoryEvent],
        taken: bool,
        ended: bool,
    ) {
        let (due, status, sequence) = before;
        for (at, event) in history.iter().enumerate() {
            assert_eq!(
                event.sequence,
                sequence + at as u64 + 1,
                "a history without gaps"
            );
            assert_eq!(event.at(), self.now);
        }
        assert_eq!(run.sequence, sequence + history.len() as u64);
        assert_eq!(run.status.is_end(), ended);
        if status.is_end() {
            assert_eq!(run.status, status, "ended stays ended");
        }
        match arrival {
            Arrival::Due { .. } => {
                assert_eq!(
                    taken,
                    due.is_some_and(|due| due <= self.now),
                    "nothing is early"
                );
                assert!(taken || history.is_empty());
            }
            Arrival::Answered { ordinal, .. }
                if taken
                    && run
                        .outstanding()
                        .is_none_or(|task| task.ordinal != *ordinal) =>
            {
                let accepted = matches!(&run.waiting, Some(Waiting::Task { task, accepted: true, .. }) if task.ordinal == *ordinal);
                assert!(
                    accepted || self.answered.insert(*ordinal),
                    "one recorded answer of a task"
                );
            }
            Arrival::Signal { .. } if taken => self.signals_matched += 1,
            _ => {}
        }
        let matched = history
            .iter()
            .filter(|event| event.kind == EventKind::SignalMatched)
            .count();
        let direct = usize::from(matches!(arrival, Arrival::Signal { .. }) && taken);
        self.signals_matched += matched - direct;
        assert!(
            ended || run.waiting.is_some() || run.status == Status::Pending,
            "a run waits for something"
        );
        let size = serde_json::to_string(run).expect("JSON").len();
        assert!(size < 64 << 10, "{size}");
    }

    fn follow(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Send(task) => self.send(task),
                Effect::GiveUp { ordinal, .. } => {
                    self.deliveries.retain(|(task, _)| task.ordinal != ordinal);
                }
                Effect::CancelChild { run, .. } => self.children.retain(|(child, _)| *child != run),
                Effect::Record { .. } | Effect::Keep { .. } | Effect::Log(_) => {}
            }
        }
        self.find_children();
    }

    /// Children are started in the commit, so they are known from the run.
    fn find_children(&mut self) {
        if let Some(Waiting::Child { run }) = self.run().waiting
            && self.children.iter().all(|(child, _)| *child != run)
        {
            let at = self.later(500);
            self.children.push((run, at));
        }
    }

    fn crash(&mut self) {
        self.crashes += 1;
        if let Some(task) = self.run().outstanding() {
            self.send(task.clone());
        }
        self.find_children();
    }

    fn send(&mut self, task: Task) {
        let input = self.text(&task.input);
        let sent = self
            .inputs
            .entry(task.ordinal)
            .or_insert_with(|| input.clone());
        assert_eq!(*sent, input, "every delivery has the same bytes");
        assert!(ACTIONS.contains(&&*task.action));
        let at = self.later(400);
        self.deliveries.push((task, at));
    }

    fn later(&mut self, most: usize) -> Timestamp {
        let delay = self.chance.below(most) as u64;
        self.now.after(Duration::from_millis(delay))
    }

    /// Plays until the run has ended, or waits for a signal that nobody sends.
    fn play(&mut self) -> Status {
        self.arrive(&Arrival::Start).expect("starts");
        for _ in 0..600 {
            let run = self.run();
            if run.status.is_end() {
                return run.status;
            }
            if self.chance.one_in(4) {
                self.signal();
            }
            if self.chance.one_in(200) {
                let cancelled = self.arrive(&Arrival::Cancel {
                    reason: "cancelled by user".into(),
                });
                assert!(cancelled.is_ok() || self.run().status.is_end());
                continue;
            }
            // Too early on purpose, now and then.
            if self.chance.one_in(5) {
                self.arrive(&Arrival::Due { at: self.now })
                    .expect("ignored");
            }
            let run = self.run();
            let next = [
                run.due(),
                self.deliveries.iter().map(|(_, at)| *at).min(),
                self.children.iter().map(|(_, at)| *at).min(),
            ];
            let Some(next) = next.into_iter().flatten().min() else {
                if !run.status.is_end() {
                    assert!(
                        matches!(run.waiting, Some(Waiting::Signal { until: None, .. })),
                        "{:?}",
                        run.waiting
                    );
                    self.signal();
                }
                continue;
            };
            self.now = self.now.max(next);
            self.happen();
        }
        self.run().status
    }

    /// What is due now happens.
    fn happen(&mut self) {
        if let Some(at) = self.deliveries.iter().position(|(_, at)| *at <= self.now) {
            let task = self.deliveries[at].0.clone();
            // An answer may come twice.
            if !self.chance.one_in(6) {
                self.deliveries.remove(at);
            }
            let answer = match self.chance.below(10) {
                0 => Answer::Deadline,
                1 => Answer::Lost {
                    code: "COMPUTE_MEMBER_DISCONNECTED".into(),
                    message: "gone".into(),
                },
                _ => {
                    let outcome = (*self.chance.pick(&OUTCOMES)).into();
                    let pad = "y".repeat(self.chance.below(3) * 900);
                    Answer::Outcome {
                        outcome,
                        output: format!("{{\"of\":{},\"pad\":\"{pad}\"}}", task.ordinal).into(),
                    }
                }
            };
            let accepted = matches!(
                self.run().waiting,
                Some(Waiting::Task { accepted: true, .. })
            );
            let out = matches!(&self.run().waiting, Some(Waiting::Task { task: out, .. }) if out.ordinal == task.ordinal);
            let taken = self
                .arrive(&Arrival::Answered {
                    ordinal: task.ordinal,
                    answer,
                })
                .expect("recorded");
            assert_eq!(taken, out, "an answer counts if its task is out");
            // The outcome of an accepted task is reported later.
            let run = self.run();
            if let Some(Waiting::Task {
                task,
                accepted: true,
                ..
            }) = &run.waiting
                && (!accepted || self.chance.one_in(2))
                && self
                    .deliveries
                    .iter()
                    .all(|(out, _)| out.ordinal != task.ordinal)
            {
                let at = self.later(400);
                self.deliveries.push((task.clone(), at));
            }
        } else if let Some(at) = self.children.iter().position(|(_, at)| *at <= self.now) {
            let (run, _) = self.children.remove(at);
            let status = *self.chance.pick(&[
                Status::Completed,
                Status::Completed,
                Status::Failed,
                Status::TimedOut,
            ]);
            self.arrive(&Arrival::ChildEnded {
                run,
                status,
                output: Some("{\"child\":1}".into()),
                error: None,
            })
            .expect("taken");
        } else {
            self.arrive(&Arrival::Due { at: self.now }).expect("taken");
        }
    }

    fn signal(&mut self) {
        let kind: Box<str> = (*self.chance.pick(&SIGNALS)).into();
        let payload: Arc<str> = self.chance.below(99).to_string().into();
        if self.arrive(&Arrival::Signal { kind, payload }).is_ok() {
            self.signals_sent += 1;
        }
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "of the others nothing is asked"
    )]
    /// What must hold of a history when nothing happens any more.
    fn check_history(&self) {
        let run = self.run();
        let count = |kind: EventKind| {
            self.history
                .iter()
                .filter(|event| event.kind == kind)
                .count()
        };
        // Every step that was entered was left, but for the last.
        let mut at: Option<&str> = None;
        let mut open = BTreeMap::new();
        for event in &self.history {
            match event.kind {
                EventKind::StepStarted => {
                    assert_eq!(at, None, "one position");
                    at = Some(&event.detail);
                    *open.entry(&*event.detail).or_insert(0) += 1;
                }
                EventKind::StepCompleted => {
                    assert_eq!(at, Some(&*event.detail), "no step is recorded twice");
                    at = None;
                }
                EventKind::SignalTimeout => at = None,
                EventKind::StepRetry | EventKind::PollScheduled => {
                    assert_eq!(at, Some(&*event.detail));
                }
                _ => {}
            }
        }
        if !run.status.is_end() {
            assert_eq!(run.position.as_ref().map(Position::name), at);
        }
        assert_eq!(count(EventKind::SignalReceived), self.signals_sent);
        assert_eq!(count(EventKind::SignalMatched), self.signals_matched);
        assert_eq!(
            self.signals_sent - self.signals_matched,
            run.signals.len(),
            "a signal is matched once, or kept"
        );
        let ends = [
            EventKind::WorkflowCompleted,
            EventKind::WorkflowFailed,
            EventKind::WorkflowCancelled,
            EventKind::WorkflowTimedOut,
        ];
        let ended: usize = ends.into_iter().map(count).sum();
        assert_eq!(ended, usize::from(run.status.is_end()), "a run ends once");
        // Each task was intended once, and each that is not out any more has ended once.
        let sent = count(EventKind::AwaitingAction) as u64;
        assert_eq!(self.inputs.keys().copied().max().unwrap_or(0), sent);
        let out = matches!(run.waiting, Some(Waiting::Task { .. }))
            || count(EventKind::WorkflowCancelled) > 0;
        let (mut closed, mut is_out) = (0, false);
        for event in &self.history {
            match event.kind {
                EventKind::AwaitingAction => is_out = true,
                // What is done within a turn ends without being sent.
                EventKind::ActionCompleted | EventKind::ActionLost if is_out => {
                    is_out = false;
                    closed += 1;
                }
                _ => {}
            }
        }
        assert!(
            closed == sent || (out && closed + 1 == sent),
            "{closed} of {sent}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn no_step_is_lost_or_recorded_twice_and_no_timer_is_early(seed in any::<u64>()) {
        let mut world = Simulated::new(seed);
        world.play();
        world.check_history();
    }
}

#[test]
fn what_has_failed_once_passes() {
    let mut world = Simulated::new(12_192_032_052_167_109_138);
    world.play();
    world.check_history();
}

#[test]
fn the_simulation_reaches_every_event_and_every_end() {
    let (mut kinds, mut ends, mut crashes) = (BTreeSet::new(), BTreeSet::new(), 0);
    for seed in 0..600 {
        let mut world = Simulated::new(seed);
        ends.insert(world.play());
        world.check_history();
        kinds.extend(world.history.iter().map(|event| event.kind));
        crashes += world.crashes;
    }
    let never: Vec<_> = EventKind::ALL
        .iter()
        .filter(|kind| !kinds.contains(kind))
        .collect();
    // Only what other starts and validation rule out.
    let expected = [
        EventKind::ScheduleStarted,
        EventKind::TriggerStarted,
        EventKind::ChildStarted,
        EventKind::PlanNotFound,
        // Of sagas.
        EventKind::StepSkipped,
        EventKind::DelayStarted,
        EventKind::DelayExpired,
        EventKind::CompensationStarted,
        EventKind::CompensationCompleted,
        EventKind::CompensationFailed,
        EventKind::CallbackCompleted,
        EventKind::CallbackFailed,
    ];
    assert_eq!(never, expected.iter().collect::<Vec<_>>());
    assert_eq!(ends.iter().filter(|status| status.is_end()).count(), 4);
    assert!(crashes > 500, "{crashes}");
}
