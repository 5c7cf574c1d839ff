//! A run that a test drives: a runtime without storage, members or clock.
#![cfg(test)]

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use crate::clock::Timestamp;
use crate::dialect::flo::Document;
use crate::program::*;

/// What a test does to a run.
#[derive(Debug, Clone, Copy)]
pub(super) enum Do {
    /// The task that is out is answered with an outcome and an output.
    Answer(&'static str, &'static str),
    Deadline,
    Lost,
    Signal(&'static str, &'static str),
    /// So many milliseconds pass, and what is due happens.
    After(u64),
    Cancel,
    ChildEnds(Status, Option<&'static str>),
    Moved,
}

pub(super) struct Driven {
    pub(super) program: Program,
    pub(super) run: Run,
    pub(super) now: Timestamp,
    pub(super) limits: Limits,
    pub(super) is_apart: bool,
    pub(super) is_contended: bool,
    pub(super) is_full: bool,
    pub(super) history: Vec<HistoryEvent>,
    /// All so far.
    pub(super) effects: Vec<Effect>,
    pub(super) disabled: Vec<&'static str>,
    pub(super) child: StartedChild,
    pub(super) entity: VecDeque<EntityAnswer>,
    /// What an executor is denied.
    pub(super) permits: HashMap<&'static str, VecDeque<Permit>>,
    pub(super) cached: Option<&'static str>,
    /// What actions answer whose names begin with `here`.
    pub(super) here: Answer,
    /// The inputs that were asked with: of children and entities.
    pub(super) asked: Vec<Ask>,
}

impl Driven {
    pub(super) fn new(document: &str, input: &str) -> Self {
        let (document, findings) = Document::read_in(None, document.as_bytes());
        let document = document.unwrap_or_else(|| panic!("{findings}"));
        Self::of(document.compile(), input)
    }

    /// A run of a compiled form.
    pub(super) fn of(program: Program, input: &str) -> Self {
        let now = Timestamp::from_micros(1_000_000_000_000);
        let begin = Begin {
            id: "wfrun-1".into(),
            started_by: StartedBy::Caller,
            depth: 0,
            input: input.into(),
            now,
        };
        let (run, event) = Run::begin(begin, &program);
        Self {
            program,
            run,
            now,
            limits: Limits::default(),
            is_apart: false,
            is_contended: false,
            is_full: false,
            history: vec![event],
            effects: Vec::new(),
            disabled: Vec::new(),
            child: StartedChild::Missing,
            entity: VecDeque::new(),
            permits: HashMap::new(),
            cached: None,
            here: Answer::Outcome {
                outcome: "success".into(),
                output: "{}".into(),
            },
            asked: Vec::new(),
        }
    }

    /// Lets something arrive; says whether it was taken.
    pub(super) fn arrive(&mut self, arrival: Arrival) -> Result<bool, Refusal> {
        let mut next = arrival;
        let mut run = self.run.clone();
        let mut first = None;
        loop {
            let world = World {
                program: &self.program,
                now: self.now,
                chance: 0,
                limits: self.limits,
                is_apart: self.is_apart,
                is_contended: self.is_contended,
                is_full: self.is_full,
            };
            let turn = run.advance(next, &world)?;
            let taken = *first.get_or_insert(turn.taken);
            self.history.extend(turn.history);
            self.effects.extend(turn.effects);
            match turn.next {
                Next::Ask(ask) => {
                    next = Arrival::Replied(self.reply(&ask));
                    self.asked.push(ask);
                    run = turn.run;
                }
                Next::Park | Next::End => {
                    assert_eq!(turn.run.status.is_end(), turn.next == Next::End);
                    let stored = serde_json::to_string(&turn.run).expect("JSON");
                    self.run = serde_json::from_str(&stored).expect("as stored");
                    return Ok(taken);
                }
            }
        }
    }

    fn reply(&mut self, ask: &Ask) -> Reply {
        match ask {
            Ask::Call { .. } | Ask::CallConnector { .. } => Reply::Called(self.here.clone()),
            Ask::Load(events) => Reply::Loaded(
                events
                    .iter()
                    .map(|at| (*at, Arc::from(self.event(*at).payload())))
                    .collect(),
            ),
            Ask::Action(name) => Reply::Action(if &**name == "missing" {
                Availability::Missing
            } else if self.disabled.contains(&&**name) {
                Availability::Disabled
            } else if name.starts_with("here") {
                Availability::Here
            } else {
                Availability::Ready {
                    timeout: Some(std::time::Duration::from_secs(30)),
                }
            }),
            Ask::Connector(name) => Reply::Connector(match &**name {
                "missing" => Reach::Missing,
                "entity" => Reach::Here,
                "member" => Reach::Member {
                    timeout: std::time::Duration::from_mins(1),
                },
                _ => Reach::BuiltIn,
            }),
            Ask::Child { .. } => Reply::Child(self.child.clone()),
            Ask::Entity { .. } => Reply::Entity(self.entity.pop_front().expect("an answer")),
            Ask::Order { plan, .. } => Reply::Order(if let Some(output) = self.cached {
                Chosen::Cached {
                    output: output.into(),
                }
            } else {
                let executors = self.program.plans[plan].executors.iter();
                Chosen::Executors(executors.map(|executor| executor.name.clone()).collect())
            }),
            Ask::Permit { executor, .. } => Reply::Permit(
                self.permits
                    .get_mut(&**executor)
                    .and_then(VecDeque::pop_front)
                    .unwrap_or(Permit::Granted),
            ),
        }
    }

    fn event(&self, sequence: u64) -> &HistoryEvent {
        let at = usize::try_from(sequence - 1).expect("small");
        assert_eq!(self.history[at].sequence, sequence);
        &self.history[at]
    }

    /// The text of a payload.
    pub(super) fn text(&self, payload: &Payload) -> String {
        match payload {
            Payload::Inline(text) => text.to_string(),
            Payload::At(at) => self.event(*at).payload().to_owned(),
        }
    }

    /// The task that was sent last.
    pub(super) fn task(&self) -> &Task {
        let sent = self.effects.iter().rev();
        let mut sent = sent.filter_map(|effect| match effect {
            Effect::Send(task) => Some(task),
            Effect::GiveUp { .. }
            | Effect::CancelChild { .. }
            | Effect::Record { .. }
            | Effect::Keep { .. }
            | Effect::Log(_) => None,
        });
        sent.next().expect("a task was sent")
    }

    pub(super) fn act(&mut self, act: Do) -> Result<bool, Refusal> {
        let arrival = match act {
            Do::Answer(outcome, output) => Arrival::Answered {
                ordinal: self.task().ordinal,
                answer: Answer::Outcome {
                    outcome: outcome.into(),
                    output: output.into(),
                },
            },
            Do::Deadline => Arrival::Answered {
                ordinal: self.task().ordinal,
                answer: Answer::Deadline,
            },
            Do::Lost => Arrival::Answered {
                ordinal: self.task().ordinal,
                answer: Answer::Lost {
                    code: "COMPUTE_MEMBER_DISCONNECTED".into(),
                    message: "the member has gone".into(),
                },
            },
            Do::Signal(kind, payload) => Arrival::Signal {
                kind: kind.into(),
                payload: payload.into(),
            },
            Do::After(milliseconds) => {
                self.now = self
                    .now
                    .after(std::time::Duration::from_millis(milliseconds));
                Arrival::Due { at: self.now }
            }
            Do::Cancel => Arrival::Cancel {
                reason: "cancelled by user".into(),
            },
            Do::ChildEnds(status, output) => Arrival::ChildEnded {
                run: "wfrun-2".into(),
                status,
                output: output.map(Into::into),
                error: None,
            },
            Do::Moved => Arrival::EntityMoved,
        };
        self.arrive(arrival)
    }

    /// Starts the run and does all of that.
    pub(super) fn play(&mut self, script: &[Do]) {
        self.arrive(Arrival::Start).expect("starts");
        for act in script {
            self.act(*act)
                .unwrap_or_else(|refusal| panic!("{act:?}: {refusal}"));
        }
    }

    /// The events after the first, each as `kind detail`.
    pub(super) fn events(&self) -> Vec<String> {
        let events = self.history.iter().enumerate().map(|(at, event)| {
            assert_eq!(event.sequence, at as u64 + 1, "no gaps");
            format!("{} {}", event.kind.as_str(), event.detail)
        });
        events.skip(1).collect()
    }

    /// What a step ended with.
    pub(super) fn outcome(&self, step: &str) -> &str {
        &self.run.results[step].outcome
    }

    pub(super) fn output(&self) -> Option<String> {
        self.run.output.as_ref().map(|output| self.text(output))
    }
}

/// A document with a start step, and more lines.
pub(super) fn flow(start: &str, more: &str) -> String {
    format!("kind: Workflow\nname: w\nversion: \"1\"\nstart: {start}\n{more}")
}
