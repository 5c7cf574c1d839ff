//! Row T21: how late a tenant's timers are beside calls of another tenant's frozen member, and
//! without them.

use hdrhistogram::Histogram;
use tokio::{sync::mpsc, time::sleep};
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::Request;

use interlock::event::frame::Frame;

use crate::{
    Plan,
    member::Member,
    message::{Model, decode, event, succeeded},
    process::{Client, Process, database, folder},
    timers::{
        FAR_MS, GLANCE, LATEST_US, SPARE, arm, fired, milliseconds, next_due, now_ms, open,
        sleep_until,
    },
};

pub(crate) const NAME: &str = "T21";

/// The calls that the frozen member does not answer.
pub(crate) const CALLS: u32 = 10_000;

/// How many timers come due in a second, and how many in all.
pub(crate) const STEADY_RATE: u32 = 2_000;
const STEADY: u32 = 8 * STEADY_RATE;

const TENANT: (&str, &str) = ("x-mock-tenant", "frozen");
const ACTION: &str = "never";

/// What was measured: one p99 for each round, in seconds.
pub(crate) struct Outcome {
    pub(crate) alone: Vec<f64>,
    pub(crate) beside: Vec<f64>,
}

pub(crate) async fn measure(plan: &Plan) -> Outcome {
    let folder = folder();
    let settings = [("INTERLOCK_IAM_MOCK_CALLER", "true")];
    let service = Process::service_with(folder.path(), plan, &settings);
    let clients = service.clients(plan.connections).await;
    let mut client = clients[0].clone();
    for (kind, payload) in Model::Timed.set_up() {
        let answer = client.entity_model_manage(event(kind, "set-up", payload, []));
        succeeded(answer.await.expect("answers").into_inner());
    }
    let member = Member::join(service.client().await).await;
    // One stays armed, so that the tenant always has a next timer.
    arm(&clients, vec![now_ms() + FAR_MS]).await;
    let file = database(folder.path());
    let rounds = plan.rounds.min(3);
    let mut alone = Vec::new();
    for _ in 0..rounds {
        alone.push(lateness(&clients, &file).await);
    }
    let frozen = freeze(service.client().await).await;
    let mut beside = Vec::new();
    for _ in 0..rounds {
        beside.push(lateness(&clients, &file).await);
    }
    drop((member, frozen));
    Outcome { alone, beside }
}

/// Has timers come due at a steady rate; the p99 of how late they are, in seconds.
async fn lateness(clients: &[Client], file: &std::path::Path) -> f64 {
    // Arming is as fast as creating, which has been at least as fast as this elsewhere.
    let start = now_ms() + milliseconds(SPARE) + i64::from(STEADY) / 2;
    let due = |n: u32| start + i64::from(n) * 1_000 / i64::from(STEADY_RATE);
    arm(clients, (0..STEADY).map(due).collect()).await;
    assert!(now_ms() < start, "the machine is too slow to arm in time");
    let end = due(STEADY);
    sleep_until(end).await;
    let mut file = open(file).await;
    while next_due(&mut file).await <= end * 1_000 {
        sleep(GLANCE).await;
    }
    let mut late = Histogram::<u64>::new_with_bounds(1, LATEST_US, 3).expect("bounds that fit");
    for (at, due_ms) in fired(&mut file).await {
        if (start..end).contains(&due_ms) {
            late.saturating_record(u64::try_from(at - due_ms * 1_000).expect("no timer is early"));
        }
    }
    assert_eq!(late.len(), u64::from(STEADY), "every timer fires once");
    f64::from(u32::try_from(late.value_at_quantile(0.99)).expect("not that late")) / 1e6
}

/// A member of another tenant that is sent so many tasks, and answers none; it leaves when this is
/// dropped.
async fn freeze(mut client: Client) -> mpsc::UnboundedSender<Frame> {
    let register = format!(r#"{{"id":"1","name":"{ACTION}","timeoutMs":86400000}}"#);
    let create = format!(
        r#"{{"id":"2","document":{{"kind":"Workflow","name":"{ACTION}","version":"1.0.0","start":{{"run":"@actions/{ACTION}","transitions":{{"success":"flo.Completed","failure":"flo.Failed"}}}}}}}}"#
    );
    for (kind, payload) in [
        ("ActionRegisterRequest", register),
        ("RunDefinitionCreateRequest", create),
    ] {
        let answer = client.entity_model_manage(theirs(event(kind, "set-up", payload, [])));
        succeeded(answer.await.expect("answers").into_inner());
    }
    let (outbox, frames) = mpsc::unbounded_channel();
    let join = format!(
        r#"{{"id":"join","tags":["{ACTION}"],"actions":["{ACTION}"],"maxConcurrency":{CALLS}}}"#
    );
    let joining = event("CalculationMemberJoinEvent", "join", join, []);
    outbox.send(joining).expect("the stream is not open yet");
    let mut calls = client
        .start_streaming(theirs(UnboundedReceiverStream::new(frames)))
        .await
        .expect("a stream")
        .into_inner();
    calls.message().await.expect("a greeting");
    let starting = client.clone();
    let starts = tokio::spawn(async move {
        for number in 0..CALLS {
            let payload = format!(r#"{{"id":"{number}","definition":"{ACTION}"}}"#);
            let request = theirs(event("RunStartRequest", "1", payload, []));
            let answer = starting.clone().entity_manage(request).await;
            succeeded(answer.expect("an answer").into_inner());
        }
    });
    let mut came = 0;
    while came < CALLS {
        let frame = calls.message().await.expect("an open stream");
        let frame = frame.expect("an event");
        came += u32::from(decode(frame).r#type == "TaskCalculationRequest");
    }
    starts.await.expect("it does not panic");
    // It holds its stream, and neither reads nor writes any more.
    tokio::spawn(async move {
        let held = calls;
        std::future::pending::<()>().await;
        drop(held);
    });
    outbox
}

/// A request of the other tenant.
fn theirs<T>(message: T) -> Request<T> {
    let mut request = Request::new(message);
    let value = TENANT.1.parse().expect("plain text");
    request.metadata_mut().insert(TENANT.0, value);
    request
}
