//! What it takes that a call, or a request with a token, goes to another node.

use std::time::Duration;

use interlock::event::{
    frame::Frame, proto::envelope::cloud_event::cloud_event_attribute_value::Attr,
};
use tokio::{sync::mpsc, task::JoinHandle};
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::Streaming;

use super::{
    Line, Outcome,
    base::{Base, create, one, set_up},
};
use crate::{
    Plan,
    load::Measured,
    member::Member,
    message::{Model, TAG, decode, event, succeeded, text},
    process::{Client, Process},
    report::{middle, middle_of, milliseconds},
};

/// How much more it may take.
const MORE_MS: f64 = 1.0;

/// Medians of each round, in seconds, where it stays and where it goes.
#[derive(Default)]
struct Medians {
    stays: Vec<f64>,
    goes: Vec<f64>,
}

impl Medians {
    fn add(&mut self, stays: &Measured, goes: &Measured) {
        self.stays.push(stays.latency(0.5).as_secs_f64());
        self.goes.push(goes.latency(0.5).as_secs_f64());
    }

    fn line(&self, workload: &str) -> Line {
        let both = self.goes.iter().zip(&self.stays);
        let mut more: Vec<f64> = both.map(|(goes, stays)| (goes - stays) * 1e3).collect();
        more.sort_by(f64::total_cmp);
        let all = |times: &[f64]| {
            let time = Duration::from_secs_f64(middle_of(times.to_vec()));
            milliseconds(time)
        };
        Line {
            workload: workload.to_owned(),
            measured: all(&self.goes),
            floor: all(&self.stays),
            ratio: format!(
                "{:+.2} ms [{:.2} .. {:.2}]",
                middle(&more),
                more[0],
                more[more.len() - 1]
            ),
            goal: format!("p50 ≤ {MORE_MS:.0} ms more"),
            reached: middle(&more) <= MORE_MS,
        }
    }
}

pub(super) async fn measure(base: &Base, plan: &Plan) -> Outcome {
    let url = base.database("service");
    let [a, b] = ["a", "b"].map(|name| base.node(&url, name, plan));
    let (mut to_a, mut to_b) = (a.client().await, b.client().await);
    set_up(&mut to_a, Model::Plain).await;
    set_up(&mut to_a, Model::Processed).await;
    let entity = create(&mut to_a, Model::Plain, "plain").await;
    let (mut calls, mut requests) = (Medians::default(), Medians::default());
    let mut outcome = Outcome::default();
    {
        let _member = Member::join(b.client().await).await;
        for _ in 0..plan.rounds {
            let local = processed(&mut to_b, plan).await;
            let carried = processed(&mut to_a, plan).await;
            calls.add(&local, &carried);
            outcome.keep("call, own member", &local);
            outcome.keep("call, carried", &carried);
        }
    }
    let mut holder = Holder::join(&b).await;
    for _ in 0..plan.rounds {
        // A transaction of node `a` is open as long as its member does not answer.
        let open = begin(to_a.clone());
        let call = holder.next().await;
        let token = &token(&call);
        let local = reads(&mut to_a, &entity, token, plan).await;
        let carried = reads(&mut to_b, &entity, token, plan).await;
        requests.add(&local, &carried);
        outcome.keep("request, own node", &local);
        outcome.keep("request, carried", &carried);
        holder.answer(&call);
        open.await.expect("no panic");
    }
    outcome.lines = vec![
        calls.line("create + processor at another node; floor: a member of the own node"),
        requests.line("a read with the token of another node; floor: at that node"),
    ];
    outcome
}

async fn processed(client: &mut Client, plan: &Plan) -> Measured {
    one(plan.part, async |n| {
        let request = Model::Processed.create(&n.to_string());
        let answer = client.entity_manage(request).await.expect("an answer");
        succeeded(answer.into_inner());
    })
    .await
}

fn begin(mut client: Client) -> JoinHandle<()> {
    tokio::spawn(async move {
        let answer = client.entity_manage(Model::Processed.create("held")).await;
        succeeded(answer.expect("an answer").into_inner());
    })
}

async fn reads(client: &mut Client, id: &str, token: &str, plan: &Plan) -> Measured {
    one(plan.part, async |_| {
        let payload = format!(r#"{{"id":"1","entityId":"{id}"}}"#);
        let token = Attr::CeString(token.to_owned());
        let request = event("EntityGetRequest", "1", payload, [("cyodatxtoken", token)]);
        let answer = client.entity_search(request).await.expect("an answer");
        succeeded(answer.into_inner());
    })
    .await
}

/// A member that answers when it is asked to.
struct Holder {
    outbox: mpsc::UnboundedSender<Frame>,
    calls: Streaming<Frame>,
}

/// A call, as it came.
type Call = interlock::event::proto::CloudEvent;

fn token(call: &Call) -> String {
    match call.attributes.get("cyodatxtoken").map(|value| &value.attr) {
        Some(Some(Attr::CeString(token))) => token.clone(),
        _ => panic!("a call without a token"),
    }
}

impl Holder {
    async fn join(node: &Process) -> Self {
        let (outbox, frames) = mpsc::unbounded_channel();
        let join = format!(r#"{{"id":"join","tags":["{TAG}"]}}"#);
        let join = event("CalculationMemberJoinEvent", "join", join, []);
        outbox.send(join).expect("open");
        let mut client = node.client().await;
        let frames = UnboundedReceiverStream::new(frames);
        let calls = client.start_streaming(frames).await.expect("a stream");
        let mut calls = calls.into_inner();
        calls.message().await.expect("a greeting");
        Self { outbox, calls }
    }

    async fn next(&mut self) -> Call {
        loop {
            let frame = self.calls.message().await.expect("an open stream");
            let call = decode(frame.expect("a message"));
            if call.r#type == "EntityProcessorCalculationRequest" {
                return call;
            }
        }
    }

    fn answer(&self, call: &Call) {
        let id = |name: &str| {
            let quoted = format!("\"{name}\":\"");
            let (_, rest) = text(call).split_once(&quoted).expect("a member");
            rest.split('"').next().expect("an id").to_owned()
        };
        let (request, entity) = (id("requestId"), id("entityId"));
        let payload = format!(
            r#"{{"id":"{request}","requestId":"{request}","entityId":"{entity}","success":true}}"#
        );
        let answer = event("EntityProcessorCalculationResponse", &request, payload, []);
        self.outbox.send(answer).expect("open");
    }
}
