//! Rows T14, T15, T16 and T18, and that of WASM: step workflows beside their floors.
//!
//! A run is timed from the request that starts it to the answer that says that it has ended. Its
//! floor is a unary echo, an echo on the member's stream for each step that goes to a member, and
//! the commits of a bare client.

use std::{
    fmt::Write as _,
    time::{Duration, Instant},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use interlock::event::frame::Frame;
use serde::Deserialize;
use tempfile::TempDir;
use tokio::sync::mpsc;

use crate::{
    Plan,
    load::{self, Measured, Recorder, Span},
    machine::{self, Cores},
    member::Member,
    message::{Sizes, event, succeeded, text},
    process::{Client, Process, database, folder},
    row::{Goal, Outcome},
    run_rows::{RunInserts, RunPattern},
};

/// A workload of runs, and what it shall reach.
pub(crate) struct RunRow {
    pub(crate) name: &'static str,
    pub(crate) workload: &'static str,
    pub(crate) goal: Goal,
    /// Beside the ratio: seconds at most, or items per second at least.
    pub(crate) absolute: Option<f64>,
    what: What,
    in_flight: usize,
    steps: u32,
    /// What one run counts as: 1, or its steps.
    counted: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    /// Every step is a task of a member.
    Actions,
    /// Every step is a module in the process of the service.
    Wasm,
    /// From a signal to the task behind it.
    Signals,
}

pub(crate) const ROWS: &[RunRow] = &[
    RunRow {
        name: "T14",
        workload: "run of one step, start to done, one client",
        goal: Goal::Latency(2.0),
        absolute: Some(0.0015),
        what: What::Actions,
        in_flight: 1,
        steps: 1,
        counted: 1,
    },
    RunRow {
        name: "T15",
        workload: "runs of one step, 64 in flight",
        goal: Goal::Rate(0.45),
        absolute: Some(3_500.0),
        what: What::Actions,
        in_flight: 64,
        steps: 1,
        counted: 1,
    },
    RunRow {
        name: "T15",
        workload: "runs of one step, 256 in flight",
        goal: Goal::Rate(0.45),
        absolute: Some(6_000.0),
        what: What::Actions,
        in_flight: 256,
        steps: 1,
        counted: 1,
    },
    RunRow {
        name: "T16",
        workload: "run of ten steps, start to done, one client",
        goal: Goal::Latency(2.0),
        absolute: None,
        what: What::Actions,
        in_flight: 1,
        steps: 10,
        counted: 1,
    },
    RunRow {
        name: "T16",
        workload: "steps, 64 runs of ten steps in flight",
        goal: Goal::Rate(0.0),
        absolute: Some(12_000.0),
        what: What::Actions,
        in_flight: 64,
        steps: 10,
        counted: 10,
    },
    RunRow {
        name: "T18",
        workload: "signal to the next task at its member",
        goal: Goal::Latency(2.0),
        absolute: None,
        what: What::Signals,
        in_flight: 1,
        steps: 1,
        counted: 1,
    },
    RunRow {
        name: "WASM",
        workload: "runs of three WASM steps, 64 clients; floor: the rows",
        goal: Goal::Rate(0.0),
        absolute: None,
        what: What::Wasm,
        in_flight: 64,
        steps: 3,
        counted: 1,
    },
];

const WORKFLOW: &str = "measured";
const ACTION: &str = "measured-step";

/// A module that succeeds with an empty output.
const MODULE: &str = r#"(module
  (memory (export "memory") 1)
  (func (export "alloc") (param i32) (result i32) (i32.const 1024))
  (func (export "dealloc") (param i32 i32))
  (func (export "handle") (param i32 i32) (result i64) (i64.const 0)))"#;

/// The part of a floor that every task needs.
const HOP: &str = "member echo";

/// How long a run may take until it waits.
const WAIT_MAX: Duration = Duration::from_secs(10);

/// How many signals one run is sent: a run may have so many steps.
const SIGNALS_OF_A_RUN: u32 = 2_000;

/// Everything that takes turns.
struct Bench<'a> {
    row: &'a RunRow,
    service: Process,
    echo: Process,
    _member: Option<Member>,
    tasks: mpsc::UnboundedReceiver<Instant>,
    to_service: Vec<Client>,
    to_echo: Vec<Client>,
    inserts: RunInserts,
    group: usize,
    /// Of a start or a signal, and of a task.
    asked: Sizes,
    task: Sizes,
    signalled: u32,
    _folder: TempDir,
}

impl RunRow {
    pub(crate) async fn measure(&self, plan: &Plan) -> Outcome {
        let mut bench = Bench::set_up(self, plan).await;
        let cores = Cores::now();
        let ours = bench.cpu_time();
        let mut on_core = Duration::ZERO;
        let mut outcome = Outcome::default();
        for _ in 0..plan.rounds {
            let parts = bench.floor(plan.part).await;
            outcome.floors.push(self.floor(&parts));
            let before = bench.service.cpu_time();
            let service = bench.load_service(plan.service).await;
            on_core += bench.service.cpu_time().saturating_sub(before);
            outcome.services.push(self.counted(self.goal.of(&service)));
            let loads = std::iter::once(("service".to_owned(), service)).chain(parts);
            outcome.add(loads);
        }
        outcome.cpu_each = on_core / outcome.loads[0].1.total.max(1);
        outcome.memory = bench.service.memory();
        let ours = bench.cpu_time().saturating_sub(ours);
        outcome.others = Cores::now().others_since(&cores, ours);
        outcome
    }

    /// Rates are of what is counted; times are of runs.
    fn counted(&self, measured: f64) -> f64 {
        match self.goal {
            Goal::Latency(_) => measured,
            Goal::Rate(_) => measured * f64::from(self.counted),
        }
    }

    /// What the parts come to: a unary call, a hop to the member for each task, and the commits.
    fn floor(&self, parts: &[(String, Measured)]) -> f64 {
        let times = |name: &str| if name == HOP { self.steps } else { 1 };
        let parts = parts
            .iter()
            .map(|(name, part)| (f64::from(times(name)), self.goal.of(part)));
        match self.goal {
            Goal::Latency(_) => parts.map(|(times, seconds)| times * seconds).sum(),
            Goal::Rate(_) => {
                let each: f64 = parts.map(|(times, rate)| times / rate).sum();
                self.counted(1.0 / each)
            }
        }
    }

    /// The requests that make the service ready: type and payload.
    fn set_up(&self) -> [(&'static str, String); 2] {
        let module = STANDARD.encode(MODULE);
        let wasm = match self.what {
            What::Wasm => format!(r#","type":"wasm","wasm":{{"module":"{module}"}}"#),
            What::Actions | What::Signals => String::new(),
        };
        let document = serde_json::to_string(&self.document()).expect("a text");
        [
            (
                "ActionRegisterRequest",
                format!(r#"{{"id":"1","name":"{ACTION}"{wasm}}}"#),
            ),
            (
                "RunDefinitionCreateRequest",
                format!(r#"{{"id":"2","document":{document}}}"#),
            ),
        ]
    }

    /// The document that runs follow.
    fn document(&self) -> String {
        let mut document =
            format!("{{\"kind\":\"Workflow\",\"name\":\"{WORKFLOW}\",\"version\":\"1.0.0\"");
        let wait = |next: &str| {
            format!(
                r#"{{"waitForSignal":{{"type":"go","timeoutMs":3600000,"onTimeout":"flo.TimedOut"}},"transitions":{{"success":"{next}"}}}}"#
            )
        };
        let step = |next: &str| {
            format!(
                r#"{{"run":"@actions/{ACTION}","transitions":{{"success":"{next}","failure":"flo.Failed"}}}}"#
            )
        };
        if self.what == What::Signals {
            let (first, work, again) = (wait("work"), step("again"), wait("work"));
            let steps = format!(r#","start":{first},"steps":{{"work":{work},"again":{again}}}}}"#);
            return document + &steps;
        }
        let next = |number: u32| {
            if number < self.steps {
                format!("step{}", number + 1)
            } else {
                "flo.Completed".to_owned()
            }
        };
        let steps: Vec<String> = (2..=self.steps)
            .map(|number| format!(r#""step{number}":{}"#, step(&next(number))))
            .collect();
        let (first, steps) = (step(&next(1)), steps.join(","));
        write!(document, r#","start":{first},"steps":{{{steps}}}}}"#).expect("memory");
        document
    }
}

impl<'a> Bench<'a> {
    async fn set_up(row: &'a RunRow, plan: &Plan) -> Self {
        let folder = folder();
        let service = Process::service(folder.path(), plan);
        let echo = Process::echo();
        let connections = plan.connections.min(row.in_flight);
        let to_service = service.clients(connections).await;
        let to_echo = echo.clients(connections).await;
        let mut client = to_service[0].clone();
        for (kind, payload) in row.set_up() {
            let request = event(kind, "set-up", payload, []);
            let answer = client.entity_model_manage(request).await.expect("answers");
            succeeded(answer.into_inner());
        }
        let (came, mut tasks) = mpsc::unbounded_channel();
        let member = match row.what {
            What::Wasm => None,
            What::Actions | What::Signals => {
                // Only where they are read.
                let came = (row.what == What::Signals).then_some(came);
                let came = move |_: &str| {
                    if let Some(came) = &came {
                        let _ = came.send(Instant::now());
                    }
                };
                Some(Member::join_for_tasks(service.client().await, ACTION, came).await)
            }
        };
        // One is made first, and its messages and rows are those of the floor.
        let (request, run) = if row.what == What::Signals {
            let run = waiting_run(&mut client, "look").await;
            (signal(&run, "look"), Some(run))
        } else {
            (start("look", true), None)
        };
        let mut asked = Sizes {
            request: request.0.len(),
            answer: 0,
        };
        let answer = client.entity_manage(request).await.expect("an answer");
        asked.answer = answer.get_ref().0.len();
        let answer = succeeded(answer.into_inner());
        match run {
            Some(run) => until_it_waits(&mut client, &run).await,
            None => assert!(
                text(&answer).contains(r#""completed""#),
                "the run failed: {}",
                text(&answer)
            ),
        }
        while tasks.try_recv().is_ok() {}
        let mut pattern = RunPattern::read(&database(folder.path())).await;
        if row.what == What::Signals {
            pattern = pattern.advance();
        }
        let mut inserts = RunInserts::open(&folder.path().join("floor.db"), pattern).await;
        let group = inserts.best_group(row.in_flight, plan.part).await;
        Self {
            row,
            service,
            echo,
            task: member.as_ref().map_or_else(Sizes::default, Member::sizes),
            _member: member,
            tasks,
            to_service,
            to_echo,
            inserts,
            group,
            asked,
            signalled: 0,
            _folder: folder,
        }
    }

    async fn load_service(&mut self, span: Span) -> Measured {
        if self.row.what == What::Signals {
            return self.signals(span).await;
        }
        let request = |id: &str| start(id, true);
        load::unary(&self.to_service, self.row.in_flight, span, request).await
    }

    /// Signals a run each time it waits; the time is that until its task is at the member.
    async fn signals(&mut self, span: Span) -> Measured {
        let mut client = self.to_service[0].clone();
        let mut recorder = Recorder::new(span, 1);
        let mut run = String::new();
        while recorder.begin().is_some() {
            if self.signalled.is_multiple_of(SIGNALS_OF_A_RUN) {
                run = waiting_run(&mut client, &format!("r{}", self.signalled)).await;
            }
            self.signalled += 1;
            let began = Instant::now();
            let request = signal(&run, &format!("s{}", self.signalled));
            let mut signalling = client.clone();
            let answering = async move { signalling.entity_manage(request).await };
            let (answer, came) = tokio::join!(answering, self.tasks.recv());
            succeeded(answer.expect("an answer").into_inner());
            let came = came.expect("the member is at work");
            recorder.record_until(began, came);
            until_it_waits(&mut client, &run).await;
        }
        // The next load begins with a run of its own.
        self.signalled = 0;
        recorder.finish()
    }

    /// The parts of the floor, by their names.
    async fn floor(&mut self, span: Span) -> Vec<(String, Measured)> {
        let in_flight = self.row.in_flight;
        let mut parts = Vec::new();
        if self.row.what != What::Wasm {
            let (asked, task) = (self.asked, self.task);
            let request = move |id: &str| asked.request(id);
            let echoed = load::unary(&self.to_echo, in_flight, span, request).await;
            parts.push(("unary echo".to_owned(), echoed));
            let request = move |id: &str| task.request(id);
            let echoed = load::stream(&self.to_echo[0], in_flight, span, request).await;
            parts.push((HOP.to_owned(), echoed));
        }
        let name = format!("{} commits, {} at once", self.inserts.commits(), self.group);
        parts.push((name, self.inserts.run(self.group, span).await));
        parts
    }

    /// The time that this process and those it measures have been on a core.
    fn cpu_time(&self) -> Duration {
        machine::cpu_time_of(std::process::id()) + self.service.cpu_time() + self.echo.cpu_time()
    }
}

/// The request to start a run, and to wait for its end.
fn start(id: &str, is_waited_for: bool) -> Frame {
    let wait = if is_waited_for {
        r#","waitMs":30000"#
    } else {
        ""
    };
    let text = format!(
        r#"{{"id":"{id}","definition":"{WORKFLOW}","input":{{"order_id":"ORD-{id}","amount":99.99,"customer":{{"id":"C-7","country":"GB"}},"lines":[{{"sku":"A-1","quantity":3}},{{"sku":"B-7","quantity":1}}]}}{wait}}}"#
    );
    event("RunStartRequest", id, text, [])
}

fn signal(run: &str, id: &str) -> Frame {
    let text = format!(
        r#"{{"id":"{id}","runId":"{run}","type":"go","payload":{{"decision":"approved","approver":"manager@co.com"}}}}"#
    );
    event("RunSignalRequest", id, text, [])
}

/// Starts a run, and waits until it waits.
async fn waiting_run(client: &mut Client, id: &str) -> String {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Started {
        run_id: String,
    }
    let answer = client
        .entity_manage(start(id, false))
        .await
        .expect("an answer");
    let answer = succeeded(answer.into_inner());
    let Started { run_id } = serde_json::from_str(text(&answer)).expect("a run");
    until_it_waits(client, &run_id).await;
    run_id
}

async fn until_it_waits(client: &mut Client, run: &str) {
    let until = Instant::now() + WAIT_MAX;
    loop {
        let payload = format!(r#"{{"id":"1","runId":"{run}"}}"#);
        let request = event("RunGetRequest", "1", payload, []);
        let answer = client.entity_search(request).await.expect("an answer");
        let answer = succeeded(answer.into_inner());
        // It waits for its task, too.
        if text(&answer).contains(r#""for":"signal""#) {
            return;
        }
        assert!(
            Instant::now() < until,
            "the run does not wait: {}",
            text(&answer)
        );
    }
}
