//! The rows of `benchmark.md`, and how one is measured.

use std::time::Duration;

use tempfile::TempDir;

use crate::{
    Plan,
    floor::{Inserts, Pattern},
    load::{self, Measured, Span},
    machine::{self, Cores},
    member::Member,
    message::{Model, Sizes, event, succeeded},
    other_driver::OtherDriver,
    process::{Client, Process, database, folder},
    rest,
};

/// A workload, and what it shall reach.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) workload: &'static str,
    pub(crate) goal: Goal,
    api: Api,
    in_flight: usize,
    model: Model,
}

/// How requests come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Api {
    Unary,
    Stream,
    Rest,
}

/// What is compared with the floor, and how far it may be away.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Goal {
    /// The median latency, at most so many times the sum of the parts'.
    Latency(f64),
    /// The rate, at least this share of what the parts allow one after the other.
    Rate(f64),
}

pub(crate) const ROWS: &[Row] = &[
    Row {
        name: "T1",
        workload: "create, one client, unary",
        goal: Goal::Latency(2.5),
        api: Api::Unary,
        in_flight: 1,
        model: Model::Plain,
    },
    Row {
        name: "T2",
        workload: "create, 256 clients, unary",
        goal: Goal::Rate(0.6),
        api: Api::Unary,
        in_flight: 256,
        model: Model::Plain,
    },
    Row {
        name: "T3",
        workload: "create, one stream, 256 in flight",
        goal: Goal::Rate(0.6),
        api: Api::Stream,
        in_flight: 256,
        model: Model::Plain,
    },
    Row {
        name: "T4",
        workload: "create + SYNC processor, one client, unary",
        goal: Goal::Latency(4.0),
        api: Api::Unary,
        in_flight: 1,
        model: Model::Processed,
    },
    Row {
        name: "T5",
        workload: "create + SYNC processor, 256 clients, unary",
        goal: Goal::Rate(0.5),
        api: Api::Unary,
        in_flight: 256,
        model: Model::Processed,
    },
    Row {
        name: "REST",
        workload: "create over REST, 64 clients",
        goal: Goal::Rate(0.6),
        api: Api::Rest,
        in_flight: 64,
        model: Model::Plain,
    },
];

/// What was measured of a row.
#[derive(Default)]
pub(crate) struct Outcome {
    /// One of each for each round: seconds, or items per second.
    pub(crate) services: Vec<f64>,
    pub(crate) floors: Vec<f64>,
    /// The service, then the parts of the floor, all rounds together.
    pub(crate) loads: Vec<(String, Measured)>,
    /// What one item costs the service on a core.
    pub(crate) cpu_each: Duration,
    /// The memory of the service in the end.
    pub(crate) memory: u64,
    /// The share of the machine that other programs used.
    pub(crate) others: f64,
}

/// Everything that takes turns.
struct Bench<'a> {
    row: &'a Row,
    service: Process,
    echo: Process,
    member: Option<Member>,
    to_service: Vec<Client>,
    to_echo: Vec<Client>,
    inserts: Inserts,
    other_driver: OtherDriver,
    group: usize,
    /// Of a creation, and of a call of the member.
    create: Sizes,
    call: Sizes,
    _folder: TempDir,
}

impl Row {
    pub(crate) async fn measure(&self, plan: &Plan) -> Outcome {
        let mut bench = Bench::set_up(self, plan).await;
        let cores = Cores::now();
        let ours = bench.cpu_time();
        let mut on_core = Duration::ZERO;
        let mut outcome = Outcome {
            services: Vec::new(),
            floors: Vec::new(),
            loads: Vec::new(),
            cpu_each: Duration::ZERO,
            memory: 0,
            others: 0.0,
        };
        for _ in 0..plan.rounds {
            let parts = bench.floor(plan.part).await;
            outcome
                .floors
                .push(self.goal.floor(parts.iter().map(|(_, part)| part)));
            let before = bench.service.cpu_time();
            let service = bench.load_service(plan.service).await;
            on_core += bench.service.cpu_time().saturating_sub(before);
            outcome.services.push(self.goal.of(&service));
            let beside = bench.beside(plan.part);
            let loads = std::iter::once(("service".to_owned(), service)).chain(parts);
            outcome.add(loads.chain(std::iter::once(beside)));
        }
        outcome.cpu_each = on_core / outcome.loads[0].1.total.max(1);
        outcome.memory = bench.service.memory();
        let ours = bench.cpu_time().saturating_sub(ours);
        outcome.others = Cores::now().others_since(&cores, ours);
        outcome
    }
}

impl Goal {
    pub(crate) fn of(self, measured: &Measured) -> f64 {
        match self {
            Self::Latency(_) => measured.latency(0.5).as_secs_f64(),
            Self::Rate(_) => measured.rate(),
        }
    }

    /// What the parts come to: latencies add, and so do the times per item.
    fn floor<'a>(self, parts: impl Iterator<Item = &'a Measured>) -> f64 {
        match self {
            Self::Latency(_) => parts.map(|part| self.of(part)).sum(),
            Self::Rate(_) => 1.0 / parts.map(|part| 1.0 / self.of(part)).sum::<f64>(),
        }
    }
}

impl Outcome {
    /// The service over its floor, of each round, in order of size.
    pub(crate) fn ratios(&self) -> Vec<f64> {
        let both = self.services.iter().zip(&self.floors);
        let mut ratios: Vec<f64> = both.map(|(service, floor)| service / floor).collect();
        ratios.sort_by(f64::total_cmp);
        ratios
    }

    pub(crate) fn add(&mut self, loads: impl Iterator<Item = (String, Measured)>) {
        for (name, load) in loads {
            match self.loads.iter_mut().find(|(known, _)| *known == name) {
                Some((_, known)) => *known = known.clone().and(&load),
                None => self.loads.push((name, load)),
            }
        }
    }
}

impl<'a> Bench<'a> {
    async fn set_up(row: &'a Row, plan: &Plan) -> Self {
        let folder = folder();
        let service = Process::service(folder.path(), plan);
        let echo = Process::echo();
        let connections = plan.connections.min(row.in_flight);
        let to_service = service.clients(connections).await;
        let to_echo = echo.clients(connections).await;
        let mut client = to_service[0].clone();
        for (kind, payload) in row.model.set_up() {
            let request = event(kind, "set-up", payload, []);
            let answer = client.entity_model_manage(request).await.expect("answers");
            succeeded(answer.into_inner());
        }
        let member = match row.model {
            Model::Plain | Model::Timed | Model::Searched => None,
            Model::Processed => Some(Member::join(service.client().await).await),
        };
        let request = row.model.create("c0-0");
        let mut create = Sizes {
            request: request.0.len(),
            answer: 0,
        };
        let answer = client.entity_manage(request).await.expect("an answer");
        create.answer = answer.get_ref().0.len();
        succeeded(answer.into_inner());
        if row.api == Api::Rest {
            let uri = rest::creations(&service, row.model);
            create.answer = rest::send(&rest::client(), &uri, "c0-0").await;
        }
        let pattern = Pattern::read(&database(folder.path()), row.model).await;
        let beside = folder.path().join("beside.db");
        let other_driver = OtherDriver::open(&beside, &pattern).await;
        let mut inserts = Inserts::open(&folder.path().join("floor.db"), pattern).await;
        let group = inserts.best_group(row.in_flight, plan.part).await;
        Self {
            row,
            service,
            echo,
            call: member.as_ref().map_or_else(Sizes::default, Member::sizes),
            member,
            to_service,
            to_echo,
            inserts,
            other_driver,
            group,
            create,
            _folder: folder,
        }
    }

    async fn load_service(&self, span: Span) -> Measured {
        let model = self.row.model;
        let request = move |id: &str| model.create(id);
        match self.row.api {
            Api::Unary => load::unary(&self.to_service, self.row.in_flight, span, request).await,
            Api::Stream => {
                load::stream(&self.to_service[0], self.row.in_flight, span, request).await
            }
            Api::Rest => {
                let uri = rest::creations(&self.service, model);
                rest::load(&uri, self.row.in_flight, span).await
            }
        }
    }

    /// The parts of the floor, by their names.
    async fn floor(&mut self, span: Span) -> Vec<(String, Measured)> {
        let in_flight = self.row.in_flight;
        let create = self.create;
        let request = move |id: &str| create.request(id);
        let mut parts = vec![match self.row.api {
            Api::Unary => (
                "unary echo".to_owned(),
                load::unary(&self.to_echo, in_flight, span, request).await,
            ),
            Api::Stream => (
                "stream echo".to_owned(),
                load::stream(&self.to_echo[0], in_flight, span, request).await,
            ),
            Api::Rest => {
                let uri = rest::echo_of(&self.echo, create.answer);
                let echoed = rest::load(&uri, in_flight, span).await;
                ("REST echo".to_owned(), echoed)
            }
        }];
        if self.member.is_some() {
            let call = self.call;
            let request = move |id: &str| call.request(id);
            parts.push((
                "member echo".to_owned(),
                load::stream(&self.to_echo[0], in_flight, span, request).await,
            ));
        }
        parts.push((
            format!("inserts, {} at once", self.group),
            self.inserts.run(self.group, span).await,
        ));
        parts
    }

    /// The inserts of the floor as another driver does them.
    fn beside(&mut self, span: Span) -> (String, Measured) {
        let name = format!("(rusqlite, {} at once)", self.group);
        (name, self.other_driver.run(self.group, span))
    }

    /// The time that this process and those it measures have been on a core.
    fn cpu_time(&self) -> Duration {
        machine::cpu_time_of(std::process::id()) + self.service.cpu_time() + self.echo.cpu_time()
    }
}
