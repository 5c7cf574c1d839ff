//! A compute member that stays connected and never answers a call, and streams of requests.

use std::net::SocketAddr;

use interlock::event::{
    Event, EventType, frame::Frame,
    proto::service::cloud_events_service_client::CloudEventsServiceClient,
};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Streaming, transport::Channel};

use crate::caller::bearer;

/// One stream.
pub(crate) struct Stream {
    pub(crate) outbox: mpsc::Sender<Frame>,
    pub(crate) inbound: Streaming<Frame>,
}

impl Stream {
    pub(crate) async fn open(address: SocketAddr, tenant: &str) -> Self {
        let channel = Channel::from_shared(format!("http://{address}"))
            .expect("a URI")
            .connect()
            .await
            .expect("connects");
        let (outbox, frames) = mpsc::channel(16);
        let mut request = Request::new(ReceiverStream::new(frames));
        let authorization = bearer(tenant).parse().expect("text");
        request
            .metadata_mut()
            .insert("authorization", authorization);
        let inbound = CloudEventsServiceClient::new(channel)
            .max_decoding_message_size(usize::MAX)
            .max_encoding_message_size(usize::MAX)
            .start_streaming(request)
            .await
            .expect("a stream")
            .into_inner();
        Self { outbox, inbound }
    }
}

/// A request, as it is sent.
pub(crate) fn request(kind: EventType, id: &str, payload: &Value) -> Frame {
    let mut event = Event::ours(kind, payload.to_string());
    event.id = id.into();
    event.into()
}

/// Joins with a tag, and answers nothing but whether it is there; until the task is aborted.
pub(crate) async fn silent(
    address: SocketAddr,
    tenant: &str,
    tag: &str,
) -> tokio::task::JoinHandle<()> {
    let Stream {
        outbox,
        mut inbound,
    } = Stream::open(address, tenant).await;
    let join = json!({"id": "join", "tags": [tag]});
    let join = request(EventType::CalculationMemberJoinEvent, "join", &join);
    outbox.send(join).await.expect("the stream is open");
    inbound.message().await.expect("a greeting");
    tokio::spawn(async move {
        while let Ok(Some(frame)) = inbound.message().await {
            let Ok(event) = frame.event() else { continue };
            if event.kind == EventType::CalculationMemberKeepAliveEvent {
                let ack = json!({"id": "ack", "sourceEventId": &*event.id, "success": true});
                let ack = request(EventType::EventAckResponse, "ack", &ack);
                let _ = outbox.send(ack).await;
            }
        }
    })
}
