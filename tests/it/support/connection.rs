//! A connection: one stream that is multiplexed, and the other methods.

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use futures_util::{StreamExt as _, TryStreamExt as _};
use interlock::event::{
    AttributeValue, Event, EventType, frame::Frame,
    proto::service::cloud_events_service_client::CloudEventsServiceClient,
};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::{Request, Status, metadata::MetadataValue, transport::Channel};

use super::schema;

/// How long a test waits for anything.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

type Waiting = Arc<Mutex<HashMap<String, mpsc::UnboundedSender<Event>>>>;

/// One stream, and the channel it is on.
pub(crate) struct Connection {
    client: CloudEventsServiceClient<Channel>,
    metadata: Vec<(&'static str, String)>,
    outbox: mpsc::Sender<Frame>,
    waiting: Waiting,
    /// What answers no request of ours: greetings, probes, calls.
    unasked: tokio::sync::Mutex<mpsc::UnboundedReceiver<Event>>,
    /// How the stream ended.
    ended: tokio::sync::Mutex<Option<oneshot::Receiver<Result<(), Status>>>>,
    next: AtomicU64,
    hang_up: CancellationToken,
    reader: tokio::task::JoinHandle<()>,
}

/// Every event that answered a request, the last one included.
pub(crate) type Answers = Vec<Event>;

/// A client on a connection of its own, without a stream.
pub(crate) async fn client(address: SocketAddr) -> CloudEventsServiceClient<Channel> {
    let channel = Channel::from_shared(format!("http://{address}"))
        .expect("a URI")
        .connect()
        .await
        .expect("connects");
    CloudEventsServiceClient::new(channel)
        .max_decoding_message_size(usize::MAX)
        .max_encoding_message_size(usize::MAX)
}

impl Connection {
    pub(crate) async fn open(address: SocketAddr, metadata: &[(&'static str, &str)]) -> Self {
        Self::on(client(address).await, metadata).await
    }

    /// The same, where the server may be gone.
    pub(crate) async fn try_open(address: SocketAddr) -> Option<Self> {
        let channel = Channel::from_shared(format!("http://{address}")).expect("a URI");
        let client = CloudEventsServiceClient::new(channel.connect().await.ok()?);
        Self::try_on(client, &[]).await.ok()
    }

    /// A stream on a channel that is there.
    pub(crate) async fn on(
        client: CloudEventsServiceClient<Channel>,
        metadata: &[(&'static str, &str)],
    ) -> Self {
        Self::try_on(client, metadata).await.expect("a stream")
    }

    async fn try_on(
        client: CloudEventsServiceClient<Channel>,
        metadata: &[(&'static str, &str)],
    ) -> Result<Self, Status> {
        let metadata: Vec<_> = metadata
            .iter()
            .map(|(name, value)| (*name, (*value).to_owned()))
            .collect();
        let (outbox, frames) = mpsc::channel(4_096);
        let hang_up = CancellationToken::new();
        let frames = ReceiverStream::new(frames).take_until(hang_up.clone().cancelled_owned());
        let mut request = Request::new(frames);
        add(&mut request, &metadata);
        let mut inbound = client.clone().start_streaming(request).await?.into_inner();
        let waiting = Waiting::default();
        let (other, unasked) = mpsc::unbounded_channel();
        let (end, ended) = oneshot::channel();
        let routes = Arc::clone(&waiting);
        let reader = tokio::spawn(async move {
            let outcome = loop {
                match inbound.message().await {
                    Ok(Some(frame)) => route(frame.event().expect("an event"), &routes, &other),
                    Ok(None) => break Ok(()),
                    Err(status) => break Err(status),
                }
            };
            routes.lock().expect("no panic").clear();
            let _ = end.send(outcome);
        });
        Ok(Self {
            client,
            metadata,
            outbox,
            waiting,
            unasked: tokio::sync::Mutex::new(unasked),
            ended: tokio::sync::Mutex::new(Some(ended)),
            next: AtomicU64::new(1),
            hang_up,
            reader,
        })
    }

    pub(crate) fn fresh_id(&self) -> String {
        format!("r{}", self.next.fetch_add(1, Ordering::Relaxed))
    }

    /// Puts an event on the stream.
    pub(crate) async fn send(&self, event: Event) {
        self.send_frame(event.into()).await;
    }

    pub(crate) async fn send_frame(&self, frame: Frame) {
        self.outbox.send(frame).await.expect("the stream is open");
    }

    /// Sends a request; what answers it comes out as it comes.
    pub(crate) async fn begin(&self, event: Event) -> mpsc::UnboundedReceiver<Event> {
        let (answer, answers) = mpsc::unbounded_channel();
        self.waiting
            .lock()
            .expect("no panic")
            .insert(event.id.to_string(), answer);
        self.send(event).await;
        answers
    }

    /// The same, where the connection may be lost.
    pub(crate) async fn try_begin(&self, event: Event) -> Option<mpsc::UnboundedReceiver<Event>> {
        let (answer, answers) = mpsc::unbounded_channel();
        self.waiting
            .lock()
            .expect("no panic")
            .insert(event.id.to_string(), answer);
        self.outbox.send(event.into()).await.ok()?;
        // The reader may have ended, and let go of everyone that waited, before we did.
        if self.reader.is_finished() {
            return None;
        }
        Some(answers)
    }

    /// Sends a request and waits for everything that answers it.
    pub(crate) async fn ask(&self, event: Event) -> Answers {
        let mut answers = self.begin(event).await;
        let mut all = Vec::new();
        while let Some(event) = tokio::time::timeout(PATIENCE, answers.recv())
            .await
            .expect("an answer in time")
        {
            all.push(event);
        }
        assert!(!all.is_empty(), "the stream ended before the answer");
        all
    }

    /// Sends a request whose answer does not end by itself; the first event that answers it, and
    /// what comes once it is cancelled.
    pub(crate) async fn taste(&self, event: Event) -> Answers {
        let id = event.id.to_string();
        let mut answers = self.begin(event).await;
        let mut next = async || {
            tokio::time::timeout(PATIENCE, answers.recv())
                .await
                .expect("an answer in time")
        };
        let mut all = vec![next().await.expect("an answer")];
        if all[0].kind != EventType::EventStreamEnd {
            self.cancel(&id).await;
            while let Some(event) = next().await {
                all.push(event);
            }
        }
        all
    }

    /// Cancels a request.
    pub(crate) async fn cancel(&self, id: &str) {
        let cancel = json!({"requestId": id});
        self.send(request("EventCancelRequest", &self.fresh_id(), cancel))
            .await;
    }

    /// Asks for what one event answers; its payload.
    pub(crate) async fn call(&self, kind: &str, payload: Value) -> Value {
        self.call_with(kind, payload, &[]).await
    }

    /// The same, with extension attributes.
    pub(crate) async fn call_with(
        &self,
        kind: &str,
        payload: Value,
        attributes: &[(&str, &str)],
    ) -> Value {
        let mut event = request(kind, &self.fresh_id(), payload);
        for (name, value) in attributes {
            event = event.with(name, AttributeValue::String((*value).into()));
        }
        let answers = self.ask(event).await;
        assert_eq!(answers.len(), 1, "{answers:?}");
        payload_of(&answers[0])
    }

    /// Asks, and expects success.
    pub(crate) async fn ok(&self, kind: &str, payload: Value) -> Value {
        let answer = self.call(kind, payload).await;
        assert_eq!(answer["success"], true, "{kind}: {answer}");
        answer
    }

    /// Asks, and expects a failure; its code.
    pub(crate) async fn fails(&self, kind: &str, payload: Value) -> String {
        let answer = self.call(kind, payload).await;
        assert_eq!(answer["success"], false, "{kind}: {answer}");
        code(&answer)
    }

    /// Asks for what many events answer; their payloads, and that of the end.
    pub(crate) async fn all(&self, kind: &str, payload: Value) -> (Vec<Value>, Value) {
        let answers = self.ask(request(kind, &self.fresh_id(), payload)).await;
        let mut payloads: Vec<_> = answers.iter().map(payload_of).collect();
        let end = payloads.pop().expect("an end");
        (payloads, end)
    }

    /// All items of a list that is answered in pages.
    pub(crate) async fn every(&self, kind: &str, mut payload: Value) -> Vec<Value> {
        let mut all = Vec::new();
        payload["limit"] = json!(1_000);
        loop {
            let mut page = self.ok(kind, payload.clone()).await;
            if let Value::Array(items) = page["items"].take() {
                all.extend(items);
            }
            let cursor = page["pagination"]["nextCursor"].take();
            if cursor.is_null() {
                return all;
            }
            payload["cursor"] = cursor;
        }
    }

    /// What many events answer to a request with extension attributes, without the end.
    pub(crate) async fn all_with(
        &self,
        kind: &str,
        payload: Value,
        attributes: &[(&str, &str)],
    ) -> Vec<Value> {
        let mut event = request(kind, &self.fresh_id(), payload);
        for (name, value) in attributes {
            event = event.with(name, AttributeValue::String((*value).into()));
        }
        let mut answers = self.ask(event).await;
        answers.pop();
        answers.iter().map(payload_of).collect()
    }

    /// The next event that answers no request of ours.
    pub(crate) async fn unasked(&self) -> Option<Event> {
        tokio::time::timeout(PATIENCE, self.unasked.lock().await.recv())
            .await
            .expect("an event in time")
    }

    /// The next event of an answer that may have been routed elsewhere, since its id was used twice.
    pub(crate) async fn unasked_or(&self, answers: &mut mpsc::UnboundedReceiver<Event>) -> Event {
        let mut unasked = self.unasked.lock().await;
        tokio::select! {
            event = unasked.recv() => event,
            event = answers.recv() => event,
            () = tokio::time::sleep(PATIENCE) => None,
        }
        .expect("an event in time")
    }

    /// Whether the stream is over, so that nothing more arrives.
    pub(crate) fn has_ended(&self) -> bool {
        self.reader.is_finished()
    }

    /// Ends the stream from this side, at once.
    pub(crate) fn abort(&self) {
        self.reader.abort();
        // As long as one direction is open, so is the stream.
        self.hang_up.cancel();
    }

    /// The same, however long it takes; none when the stream has ended.
    pub(crate) async fn unasked_or_end(&self) -> Option<Event> {
        self.unasked.lock().await.recv().await
    }

    /// Says that nothing more will be sent.
    pub(crate) fn half_close(&mut self) {
        let (closed, _) = mpsc::channel(1);
        self.outbox = closed;
    }

    /// How the stream ends.
    pub(crate) async fn end(&self) -> Result<(), Status> {
        let ended = self.ended.lock().await.take().expect("asked once");
        tokio::time::timeout(PATIENCE, ended)
            .await
            .expect("an end in time")
            .expect("the reader lives")
    }

    /// Calls a unary method.
    pub(crate) async fn unary(
        &self,
        method: &str,
        event: Event,
        metadata: &[(&'static str, &str)],
    ) -> Result<Event, Status> {
        let mut client = self.client.clone();
        let request = self.request(event.into(), metadata);
        let answered = match method {
            "entityModelManage" => client.entity_model_manage(request).await,
            "entityManage" => client.entity_manage(request).await,
            "entitySearch" => client.entity_search(request).await,
            other => panic!("{other} is no unary method"),
        };
        Ok(answered?.into_inner().event().expect("an event"))
    }

    /// Calls a server-streaming method.
    pub(crate) async fn streaming(
        &self,
        method: &str,
        event: Event,
        metadata: &[(&'static str, &str)],
    ) -> Result<Answers, Status> {
        let frames: Result<Vec<Frame>, Status> = self
            .live(method, event, metadata)
            .await?
            .try_collect()
            .await;
        Ok(frames?
            .into_iter()
            .map(|frame| frame.event().expect("an event"))
            .collect())
    }

    /// The same, while the answers come.
    pub(crate) async fn live(
        &self,
        method: &str,
        event: Event,
        metadata: &[(&'static str, &str)],
    ) -> Result<tonic::Streaming<Frame>, Status> {
        let mut client = self.client.clone();
        let request = self.request(event.into(), metadata);
        let answered = match method {
            "entityManageCollection" => client.entity_manage_collection(request).await,
            "entitySearchCollection" => client.entity_search_collection(request).await,
            other => panic!("{other} is no streaming method"),
        };
        Ok(answered?.into_inner())
    }

    pub(crate) fn request(
        &self,
        frame: Frame,
        metadata: &[(&'static str, &str)],
    ) -> Request<Frame> {
        let mut request = Request::new(frame);
        add(&mut request, &self.metadata);
        let more: Vec<_> = metadata
            .iter()
            .map(|(name, value)| (*name, (*value).to_owned()))
            .collect();
        add(&mut request, &more);
        request
    }

    pub(crate) fn client(&self) -> CloudEventsServiceClient<Channel> {
        self.client.clone()
    }
}

fn add<T>(request: &mut Request<T>, metadata: &[(&'static str, String)]) {
    for (name, value) in metadata {
        request
            .metadata_mut()
            .insert(*name, MetadataValue::try_from(value).expect("a value"));
    }
}

fn route(event: Event, waiting: &Waiting, other: &mpsc::UnboundedSender<Event>) {
    let mut waiting = waiting.lock().expect("no panic");
    let id = event.attribute("requestid").map(ToOwned::to_owned);
    let Some(answers) = id.as_ref().and_then(|id| waiting.get(id)) else {
        let _ = other.send(event);
        return;
    };
    let is_last =
        event.kind == EventType::EventStreamEnd || !event.attributes.contains_key("sequence");
    let _ = answers.send(event);
    if is_last {
        waiting.remove(&id.expect("it was found"));
    }
}

/// A request event; the payload's `id` is filled in.
pub(crate) fn request(kind: &str, id: &str, mut payload: Value) -> Event {
    if let Some(members) = payload.as_object_mut() {
        members.entry("id").or_insert_with(|| id.into());
    }
    let mut event = Event::ours(EventType::from_name(kind).expect(kind), payload.to_string());
    event.id = id.into();
    event
}

/// The data of an event of the service, which must be what the schema of its type says.
pub(crate) fn payload_of(event: &Event) -> Value {
    let payload = serde_json::from_str(event.text().expect("text")).expect("JSON");
    let faults = schema::faults(event.kind, &payload);
    assert!(faults.is_empty(), "{}: {faults:#?}: {payload}", event.kind);
    payload
}

/// The specific code of a failed answer.
pub(crate) fn code(answer: &Value) -> String {
    let message = answer["error"]["message"]
        .as_str()
        .unwrap_or_else(|| panic!("no error in {answer}"));
    message.split(':').next().expect("a code").to_owned()
}
