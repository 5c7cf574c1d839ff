//! A compute member: a processor that changes the document, and a function that says when.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use interlock::event::frame::Frame;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::{sync::mpsc, task::JoinHandle};
use tokio_stream::wrappers::UnboundedReceiverStream;

use crate::{
    message::{Sizes, TAG, decode, event, text},
    process::Client,
};

/// What a function looks at.
#[derive(Deserialize)]
struct Timed<'a> {
    reference: &'a str,
}

/// A member at work, until it is dropped.
pub(crate) struct Member {
    sizes: Arc<[AtomicUsize; 2]>,
    task: JoinHandle<()>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Call<'a> {
    request_id: &'a str,
    entity_id: &'a str,
    #[serde(borrow)]
    payload: Attached<'a>,
}

#[derive(Deserialize)]
struct Attached<'a> {
    #[serde(borrow)]
    data: &'a RawValue,
}

impl Member {
    /// Joins; returns once the service has greeted it.
    pub(crate) async fn join(client: Client) -> Self {
        Self::join_with(client, "", |_: &str| ()).await
    }

    /// The same for a member that executes an action; `came` hears of each task that comes.
    pub(crate) async fn join_for_tasks(
        client: Client,
        action: &str,
        came: impl Fn(&str) + Send + 'static,
    ) -> Self {
        let announced = format!(r#","actions":["{action}"],"maxConcurrency":100000"#);
        Self::join_with(client, &announced, came).await
    }

    async fn join_with(
        mut client: Client,
        announced: &str,
        came: impl Fn(&str) + Send + 'static,
    ) -> Self {
        let (outbox, frames) = mpsc::unbounded_channel();
        let join = format!(r#"{{"id":"join","tags":["{TAG}"]{announced}}}"#);
        let send = |frame: Frame| outbox.send(frame).expect("the stream is open");
        send(event("CalculationMemberJoinEvent", "join", join, []));
        let mut calls = client
            .start_streaming(UnboundedReceiverStream::new(frames))
            .await
            .expect("a stream")
            .into_inner();
        calls.message().await.expect("a greeting");
        let sizes = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
        let seen = Arc::clone(&sizes);
        let task = tokio::spawn(async move {
            while let Ok(Some(frame)) = calls.message().await {
                let size = frame.0.len();
                if let Some(answer) = answer(frame, &came) {
                    seen[0].store(size, Ordering::Relaxed);
                    seen[1].store(answer.0.len(), Ordering::Relaxed);
                    let _ = outbox.send(answer);
                }
            }
        });
        Self { sizes, task }
    }

    /// How large the last call and its answer were.
    pub(crate) fn sizes(&self) -> Sizes {
        Sizes {
            request: self.sizes[0].load(Ordering::Relaxed),
            answer: self.sizes[1].load(Ordering::Relaxed),
        }
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The answer to a call; to anything else, none.
fn answer(frame: Frame, came: &impl Fn(&str)) -> Option<Frame> {
    let request = decode(frame);
    if request.r#type == "TaskCalculationRequest" {
        came(text(&request));
        return Some(executed(text(&request)));
    }
    let call = || -> Call<'_> { serde_json::from_str(text(&request)).expect("a call") };
    match request.r#type.as_str() {
        "EntityProcessorCalculationRequest" => Some(processed(&call())),
        "EntityFunctionCalculationRequest" => Some(computed(&call())),
        _ => None,
    }
}

fn executed(task: &str) -> Frame {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Task<'a> {
        request_id: &'a str,
    }
    let Task { request_id } = serde_json::from_str(task).expect("a task");
    let text = format!(
        r#"{{"id":"{request_id}","requestId":"{request_id}","success":true,"outcome":"success","output":{{"charge_id":"ch_1"}}}}"#
    );
    event("TaskCalculationResponse", request_id, text, [])
}

fn computed(call: &Call<'_>) -> Frame {
    let document = call.payload.data.get();
    let Timed { reference } = serde_json::from_str(document).expect("a reference");
    let Call {
        request_id,
        entity_id,
        ..
    } = *call;
    let text = format!(
        r#"{{"id":"{request_id}","requestId":"{request_id}","entityId":"{entity_id}","success":true,"resultKind":"Schedule","result":{{"fireAt":{reference}}}}}"#
    );
    event("EntityFunctionCalculationResponse", request_id, text, [])
}

fn processed(call: &Call<'_>) -> Frame {
    let changed = call
        .payload
        .data
        .get()
        .replacen(r#""status":"NEW""#, r#""status":"SET""#, 1);
    let Call {
        request_id,
        entity_id,
        ..
    } = *call;
    let text = format!(
        r#"{{"id":"{request_id}","requestId":"{request_id}","entityId":"{entity_id}","success":true,"payload":{{"type":"JSON","data":{changed}}}}}"#
    );
    event("EntityProcessorCalculationResponse", request_id, text, [])
}
