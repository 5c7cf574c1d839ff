//! Creations: by 16 clients, in batches, and at two nodes.

use super::{
    Outcome, Rates,
    base::{Base, Inserts, create, set_up},
};
use crate::{
    Plan,
    load::{self, Measured, Span},
    message::{Model, Sizes, succeeded},
    process::{Client, Process},
};

/// How many clients T11 has, and how many rows its floor inserts at once.
const CLIENTS: usize = 16;

/// How many entities a batch has, and how many batches are in flight.
const BATCH: u32 = 256;
const BATCHES: usize = 2;

/// How many clients the nodes share.
const SHARED: usize = 64;

/// A node that is ready, with one entity, and its database.
async fn ready(base: &Base, plan: &Plan) -> (Process, String) {
    let url = base.database("service");
    let service = base.node(&url, "a", plan);
    let mut client = service.client().await;
    set_up(&mut client, Model::Plain).await;
    create(&mut client, Model::Plain, "c0-0").await;
    (service, url)
}

fn one_after_the_other(parts: [&Measured; 2]) -> f64 {
    1.0 / parts.iter().map(|part| 1.0 / part.rate()).sum::<f64>()
}

/// T11: beside an echo, and inserts of as many rows as there are clients.
pub(super) async fn sixteen_clients(base: &Base, plan: &Plan) -> Outcome {
    let (service, url) = ready(base, plan).await;
    let echo = Process::echo();
    let (to_service, to_echo) = (service.clients(CLIENTS).await, echo.clients(CLIENTS).await);
    let request = |id: &str| Model::Plain.create(id);
    let answer = to_service[0].clone().entity_manage(request("c0-1")).await;
    let sizes = Sizes {
        request: request("c0-1").0.len(),
        answer: answer.expect("an answer").into_inner().0.len(),
    };
    let same = move |id: &str| sizes.request(id);
    let mut inserts = Inserts::open(base, "floor", &url).await;
    let (mut outcome, mut rates) = (Outcome::default(), Rates::default());
    for _ in 0..plan.rounds {
        let echoed = load::unary(&to_echo, CLIENTS, plan.part, same).await;
        let inserted = inserts.run(CLIENTS, true, plan.part).await;
        let created = load::unary(&to_service, CLIENTS, plan.service, request).await;
        rates.floors.push(one_after_the_other([&echoed, &inserted]));
        rates.services.push(created.rate());
        outcome.keep("service", &created);
        outcome.keep("unary echo", &echoed);
        outcome.keep("inserts, 16 at once", &inserted);
    }
    outcome.lines = vec![rates.line("T11: create, 16 clients, unary", 0.6)];
    outcome
}

/// Requests that create many entities each; entities in a second.
async fn create_batches(clients: &[Client], span: Span) -> f64 {
    let batches = load::callers(BATCHES, span, |caller| {
        let client = clients[caller % clients.len()].clone();
        move |id: String| {
            let mut client = client.clone();
            async move {
                let request = Model::Plain.create_many(&id, BATCH);
                let answers = client.entity_manage_collection(request).await;
                let mut answers = answers.expect("answers").into_inner();
                let answer = answers.message().await.expect("an open stream");
                succeeded(answer.expect("an answer"));
            }
        }
    });
    batches.await.rate() * f64::from(BATCH)
}

/// Beside inserts of as many entities by one statement.
pub(super) async fn batches(base: &Base, plan: &Plan) -> Outcome {
    let (service, url) = ready(base, plan).await;
    let clients = service.clients(BATCHES).await;
    let mut inserts = Inserts::open(base, "floor", &url).await;
    let (mut outcome, mut rates) = (Outcome::default(), Rates::default());
    let entities = usize::try_from(BATCH).expect("small");
    for _ in 0..plan.rounds {
        let inserted = inserts.run(entities, false, plan.part).await;
        rates.floors.push(inserted.rate());
        outcome.keep("inserts, 256 at once", &inserted);
        rates
            .services
            .push(create_batches(&clients, plan.service).await);
    }
    let workload = "creates in batches of 256, two in flight; floor: UNNEST inserts alone";
    outcome.lines = vec![rates.line(workload, 0.6)];
    outcome
}

/// The same load at one node, and shared out over two.
pub(super) async fn two_nodes(base: &Base, plan: &Plan) -> Outcome {
    let (one, url) = ready(base, plan).await;
    let other = base.node(&url, "b", plan);
    let alone = one.clients(CLIENTS).await;
    let half = CLIENTS / 2;
    let both = [one.clients(half).await, other.clients(half).await].concat();
    let request = |id: &str| Model::Plain.create(id);
    let (mut outcome, mut rates) = (Outcome::default(), Rates::default());
    for _ in 0..plan.rounds {
        let by_one = load::unary(&alone, SHARED, plan.service, request).await;
        let by_both = load::unary(&both, SHARED, plan.service, request).await;
        rates.floors.push(by_one.rate());
        rates.services.push(by_both.rate());
        outcome.keep("two nodes", &by_both);
        outcome.keep("one node", &by_one);
    }
    let workload = "create, 64 clients at two nodes; floor: all at one of them";
    outcome.lines = vec![rates.line(workload, 0.8)];
    outcome
}
