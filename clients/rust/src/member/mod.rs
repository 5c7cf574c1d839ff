//! Compute members.

mod bounded;
mod call;
mod failure;
mod serve;
mod task;

use std::{
    collections::BTreeMap,
    fmt,
    future::Future,
    pin::pin,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use futures_util::future::BoxFuture;
use serde::Serialize;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use self::{
    call::Done,
    serve::{Handlers, Serving},
};
pub use self::{
    call::{Call, Caller, Schedule, Transition, Verdict},
    failure::{Failure, HandlerResult, reject, retry},
    task::{IntoOutcome, Outcome, Task},
};
use crate::{
    Client, Code, ConnectOptions, Error, Json, Result, api::WorkerDrainRequest,
    connection::Connection, stream::Lane, sync::locked,
};

/// How long a member that stops waits until the server has taken note of it.
const DRAIN_NOTICE_TIMEOUT: Duration = Duration::from_secs(2);

/// What a workflow may call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Processor,
    Criterion,
    Schedule,
}

impl Kind {
    fn of(event_type: &str) -> Option<Self> {
        match event_type {
            "EntityProcessorCalculationRequest" => Some(Self::Processor),
            "EntityCriteriaCalculationRequest" => Some(Self::Criterion),
            "EntityFunctionCalculationRequest" => Some(Self::Schedule),
            _ => None,
        }
    }

    fn response(self) -> &'static str {
        match self {
            Self::Processor => "EntityProcessorCalculationResponse",
            Self::Criterion => "EntityCriteriaCalculationResponse",
            Self::Schedule => "EntityFunctionCalculationResponse",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Processor => "processor",
            Self::Criterion => "criterion",
            Self::Schedule => "schedule",
        }
    }
}

/// A member that serves the calls of one tenant: it executes processors, criteria, schedule
/// functions and actions by their names.
///
/// Register them, then [`run`](Self::run) it, or [`join`](Self::join). When the stream is lost, the
/// member joins again, however long it takes.
///
/// The future of a handler is dropped when the call is given up: because the stream was lost, and
/// with it the transaction, because the server cancelled the task, or because draining took too
/// long.
///
/// ```no_run
/// use interlock_client::{Call, HandlerResult, Member, Verdict, reject};
/// use serde_json::{Value, json};
///
/// async fn price(call: Call) -> HandlerResult<Value> {
///     let mut parcel: Value = call.document()?;
///     if parcel["weight"].as_f64() > Some(20.0) {
///         return Err(reject("too heavy"));
///     }
///     parcel["price"] = json!(7);
///     Ok(parcel)
/// }
///
/// # async fn run() -> interlock_client::Result<()> {
/// Member::new("localhost:9090")
///     .tag("pricing")
///     .processor("price", price)
///     .criterion("is-known", async |call: Call| Ok(call.entity.is_some()))
///     .run()
///     .await
/// # }
/// ```
#[must_use = "a member serves nothing until it runs"]
pub struct Member {
    options: ConnectOptions,
    settings: Settings,
    handlers: Handlers,
}

/// What the options of a member have set.
#[derive(Clone, Debug)]
struct Settings {
    tags: Vec<String>,
    labels: BTreeMap<String, String>,
    namespace: Option<String>,
    concurrency: usize,
    drain_timeout: Duration,
}

impl Member {
    /// A member for a server, such as `Member::new("localhost:9090")`.
    pub fn new(options: impl Into<ConnectOptions>) -> Self {
        Self {
            options: options.into(),
            settings: Settings {
                tags: Vec::new(),
                labels: BTreeMap::new(),
                namespace: None,
                concurrency: 64,
                drain_timeout: Duration::from_secs(30),
            },
            handlers: Handlers::default(),
        }
    }

    /// Adds a tag. The member is sent the calls that require no others than it has.
    pub fn tag(mut self, tag: impl Into<String>) -> Self {
        self.settings.tags.push(tag.into());
        self
    }

    /// Adds tags; see [`tag`](Self::tag).
    pub fn tags(mut self, tags: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.settings.tags.extend(tags.into_iter().map(Into::into));
        self
    }

    /// How many calls are executed at once, and how many tasks besides: 64, if it is not set;
    /// further ones wait. A call that a running one causes in its own transaction is not counted,
    /// because that one waits for it. When 1,024 more than the calls and tasks that may run wait,
    /// further ones are rejected as retryable. With 0, the member is refused with `INVALID_OPTIONS`.
    pub fn concurrency(mut self, calls: usize) -> Self {
        self.settings.concurrency = calls;
        self.options
            .check(calls > 0, "concurrency is 0; use 1 or more");
        self
    }

    /// Adds a label, which invocations of actions may ask for.
    pub fn label(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.settings.labels.insert(name.into(), value.into());
        self
    }

    /// The namespace of the actions, instead of the server's default.
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.settings.namespace = Some(namespace.into());
        self
    }

    /// How long a member that stops waits for running calls: 30 s, if it is not set.
    pub fn drain_timeout(mut self, timeout: Duration) -> Self {
        self.settings.drain_timeout = timeout;
        self
    }

    /// Registers the processor of that name, which changes an entity when a transition is taken. It
    /// returns the whole new document, whatever becomes a JSON object; what becomes null (`()`,
    /// `None`) leaves the document as it is.
    pub fn processor<F, R, T>(self, name: impl Into<String>, processor: F) -> Self
    where
        F: Fn(Call) -> R + Send + Sync + 'static,
        R: Future<Output = HandlerResult<T>> + Send + 'static,
        T: Serialize,
    {
        self.calculation(Kind::Processor, name, move |call| {
            let executing = processor(call);
            async move { Ok(Done::Document(Json::encode(&executing.await?)?)) }
        })
    }

    /// Registers the function criterion of that name, which returns whether it holds, or a
    /// [`Verdict`]. A failure is no decision: it fails the whole request.
    pub fn criterion<F, R, T>(self, name: impl Into<String>, criterion: F) -> Self
    where
        F: Fn(Call) -> R + Send + Sync + 'static,
        R: Future<Output = HandlerResult<T>> + Send + 'static,
        T: Into<Verdict>,
    {
        self.calculation(Kind::Criterion, name, move |call| {
            let executing = criterion(call);
            async move { Ok(Done::Verdict(executing.await?.into())) }
        })
    }

    /// Registers the function of that name, which computes when a scheduled transition is due. A
    /// failure fails the write after which the transition would have been scheduled.
    pub fn schedule<F, R>(self, name: impl Into<String>, schedule: F) -> Self
    where
        F: Fn(Call) -> R + Send + Sync + 'static,
        R: Future<Output = HandlerResult<Schedule>> + Send + 'static,
    {
        self.calculation(Kind::Schedule, name, move |call| {
            let executing = schedule(call);
            async move { Ok(Done::Schedule(executing.await?)) }
        })
    }

    /// Lets the processors, criteria and schedule functions of that name work without the entity: the
    /// workflow may say `"attachEntity": false`. Others reject such calls.
    pub fn detached(mut self, name: impl Into<String>) -> Self {
        self.handlers.detached.insert(name.into());
        self
    }

    fn calculation<F, R>(mut self, kind: Kind, name: impl Into<String>, function: F) -> Self
    where
        F: Fn(Call) -> R + Send + Sync + 'static,
        R: Future<Output = HandlerResult<Done>> + Send + 'static,
    {
        let handler = Arc::new(move |call| -> BoxFuture<'static, HandlerResult<Done>> {
            Box::pin(function(call))
        });
        self.handlers.calls.insert((kind, name.into()), handler);
        self
    }

    /// Registers the action of that name, which does the work of a step of a step workflow. It
    /// returns the output, whatever has a form in JSON, or an [`Outcome`]. A failure is the
    /// outcome `failure`.
    pub fn action<F, R, T>(mut self, name: impl Into<String>, action: F) -> Self
    where
        F: Fn(Task) -> R + Send + Sync + 'static,
        R: Future<Output = HandlerResult<T>> + Send + 'static,
        T: IntoOutcome,
    {
        let handler = Arc::new(move |task| -> BoxFuture<'static, HandlerResult<Outcome>> {
            let executing = action(task);
            Box::pin(async move { Ok(executing.await?.into_outcome()?) })
        });
        self.handlers.tasks.insert(name.into(), handler);
        self
    }

    /// Registers what does the items of managers whose worker names this workflow. Its input is the
    /// payload of the item, and it is otherwise as an [`action`](Self::action). The member needs no
    /// tag of its own for it.
    pub fn workflow<F, R, T>(mut self, code: impl Into<String>, workflow: F) -> Self
    where
        F: Fn(Task) -> R + Send + Sync + 'static,
        R: Future<Output = HandlerResult<T>> + Send + 'static,
        T: IntoOutcome,
    {
        let code = code.into();
        let tag = format!("workflow:{code}");
        if !self.settings.tags.contains(&tag) {
            self.settings.tags.push(tag);
        }
        self.action(code, workflow)
    }

    /// Serves until the process is asked to end, by SIGTERM or Ctrl-C; then it finishes running
    /// calls, for the drain timeout at most, and disconnects. While the server cannot be reached it
    /// continues to try. It fails when the server refuses this caller.
    pub async fn run(self) -> Result<()> {
        let stop = stop_signal()?;
        self.run_until(stop).await
    }

    /// Serves until the future is ready; see [`run`](Self::run).
    pub async fn run_until(self, stop: impl Future<Output = ()>) -> Result<()> {
        let membership = self.membership()?;
        membership.stay_joined();
        {
            let mut stop = pin!(stop);
            tokio::select! {
                () = &mut stop => {}
                () = membership.state.ended.cancelled() => {}
            }
        }
        membership.leave().await;
        membership.failure().map_or(Ok(()), Err)
    }

    /// Joins within the connect timeout, and then serves in the background until the membership is
    /// left or dropped.
    pub async fn join(self) -> Result<Membership> {
        let membership = self.membership()?;
        membership.connection.stream_soon().await?;
        membership.stay_joined();
        Ok(membership)
    }

    fn membership(self) -> Result<Membership> {
        let connection = Arc::new(Connection::new(self.options)?);
        let drain_timeout = self.settings.drain_timeout;
        let serving = Serving::new(&connection, self.settings, self.handlers);
        Ok(Membership {
            client: Client::on_connection(Arc::clone(&connection)),
            connection,
            serving,
            drain_timeout,
            state: Arc::default(),
        })
    }
}

impl fmt::Debug for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Member")
            .field("options", &self.options)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

/// A member that has joined. It disconnects when this is dropped; [`leave`](Self::leave) finishes
/// what is running first.
#[must_use = "a member disconnects when it is dropped"]
pub struct Membership {
    client: Client,
    connection: Arc<Connection>,
    serving: Arc<Serving>,
    drain_timeout: Duration,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    /// Is cancelled when the member does not join again.
    ended: CancellationToken,
    failure: Mutex<Option<Error>>,
}

impl Membership {
    /// Sends requests on the stream of the member, outside its calls.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Tells the server that this member takes no more calls, finishes the running ones, for the
    /// drain timeout at most, cancels those that still run then, and disconnects. Calls that arrive
    /// nevertheless are answered at once with the retryable failure `MEMBER_STOPPING`.
    pub async fn leave(&self) {
        self.leave_within(self.drain_timeout).await;
    }

    /// The same with another limit of time.
    pub async fn leave_within(&self, patience: Duration) {
        let begun = Instant::now();
        self.serving.stop_taking();
        let noticed = timeout(patience.min(DRAIN_NOTICE_TIMEOUT), self.notice_draining());
        // What does not end in time is given up with the stream. If the server has not taken note of
        // it in time, calls may still come, and are answered.
        let (_, noticed) = tokio::join!(timeout(patience, self.serving.drained()), noticed);
        if let Ok(Err(error)) = noticed {
            tracing::debug!(%error, "the server took no note of the stopping");
        }
        let rest = patience.saturating_sub(begun.elapsed());
        self.connection.shut_down(rest).await;
    }

    /// Tells the server to send no more calls, and waits until it has taken note of that.
    async fn notice_draining(&self) -> Result<()> {
        let Some(open) = self.connection.current() else {
            return Ok(());
        };
        let Some(id) = open.member.get() else {
            return Ok(());
        };
        // Not in the lane of the stream, whose places may be taken for longer than this waits.
        let lane = Lane::new(1, None);
        let client = Client::on_stream(Arc::clone(&open), lane, Arc::default());
        let request = WorkerDrainRequest::new(id);
        client.worker_drain(&request).await.map(drop)
    }

    /// Waits until the member does not join again, because it was left or because the server
    /// refuses it, which is the failure.
    pub async fn ended(&self) -> Result<()> {
        self.state.ended.cancelled().await;
        self.failure().map_or(Ok(()), Err)
    }

    fn failure(&self) -> Option<Error> {
        locked(&self.state.failure).clone()
    }

    /// Opens a stream whenever there is none.
    fn stay_joined(&self) {
        let connection = Arc::clone(&self.connection);
        let serving = Arc::clone(&self.serving);
        let state = Arc::clone(&self.state);
        tokio::spawn(async move {
            let _ended = state.ended.clone().drop_guard();
            loop {
                match connection.stream_eventually().await {
                    Ok(open) => open.ended().cancelled().await,
                    Err(error) => {
                        if !connection.closed().is_cancelled() {
                            *locked(&state.failure) = Some(error);
                        }
                        return;
                    }
                }
                if serving.is_draining() {
                    return;
                }
            }
        });
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        self.connection.closed().cancel();
    }
}

impl fmt::Debug for Membership {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Membership")
            .field("client", &self.client)
            .finish_non_exhaustive()
    }
}

/// Is ready when the process is asked to end.
fn stop_signal() -> Result<impl Future<Output = ()>> {
    let failed = |source| Error::caused(Code::NotSupported, "cannot wait for signals", source);
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let mut terminated = signal(SignalKind::terminate()).map_err(failed)?;
        let mut interrupted = signal(SignalKind::interrupt()).map_err(failed)?;
        Ok(async move {
            tokio::select! {
                _ = terminated.recv() => {}
                _ = interrupted.recv() => {}
            }
        })
    }
    #[cfg(not(unix))]
    {
        let _: fn(std::io::Error) -> Error = failed;
        Ok(async {
            // Without signals it serves until it is refused.
            if tokio::signal::ctrl_c().await.is_err() {
                std::future::pending::<()>().await;
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use futures_util::StreamExt as _;
    use serde_json::{Value, json};
    use tokio::sync::{Notify, oneshot};

    use super::*;
    use crate::{
        connection::Peer as _,
        generated::cloudevents::CloudEvent,
        stream::{Outbox, Receiver as _, Stream},
    };

    /// What a server sends.
    fn event(event_type: &str, payload: Value) -> CloudEvent {
        CloudEvent::of(event_type, &payload.into()).expect("an object")
    }

    fn call(id: &str) -> CloudEvent {
        let payload = json!({"requestId": id, "entityId": "e", "processorName": "price"});
        event("EntityProcessorCalculationRequest", payload)
    }

    /// The next event that a member sends, and its type.
    async fn sent(outbox: &mut Outbox) -> (String, Value) {
        let next = timeout(Duration::from_secs(20), outbox.next()).await;
        let next = next.expect("it sends something").expect("it is open");
        let payload = serde_json::from_str(next.text().expect("a text")).expect("JSON");
        (next.r#type, payload)
    }

    /// A member, and a stream on which nobody reads what it sends but the test.
    fn on_a_stream(member: Member) -> (Membership, Arc<Stream>) {
        let membership = member.membership().expect("options");
        let (greeted, _greeting) = oneshot::channel();
        let stream = Stream::new(8, 1 << 20, CancellationToken::new(), greeted);
        (membership, stream)
    }

    #[tokio::test]
    async fn a_call_that_cannot_be_read_is_rejected_as_retryable() {
        let (membership, stream) = on_a_stream(Member::new("127.0.0.1:1"));
        let mut outbox = Outbox(Arc::clone(&stream));
        for (asked, answered) in [
            (
                "EntityProcessorCalculationRequest",
                "EntityProcessorCalculationResponse",
            ),
            ("TaskCalculationRequest", "TaskCalculationResponse"),
        ] {
            let unreadable = json!({"requestId": "odd", "processorName": 7, "name": 7});
            membership
                .serving
                .receive(&stream, event(asked, unreadable));
            let (event_type, answer) = sent(&mut outbox).await;
            assert_eq!(event_type, answered);
            assert_eq!(answer["requestId"], "odd");
            assert_eq!(answer["success"], false);
            assert_eq!(answer["error"]["retryable"], true);
            let message = answer["error"]["message"].as_str().expect("a text");
            assert!(
                message.starts_with("this member cannot read the call: "),
                "{message}"
            );
        }
    }

    #[tokio::test]
    async fn more_calls_than_run_and_wait_are_rejected_as_retryable() {
        let member = Member::new("127.0.0.1:1").concurrency(2).detached("price");
        let member = member.processor("price", |_| std::future::pending::<HandlerResult<Value>>());
        let (membership, stream) = on_a_stream(member);
        for _ in 0..1_024 + 2 * 2 {
            membership.serving.receive(&stream, call("kept"));
        }
        membership.serving.receive(&stream, call("odd"));
        let (_, answer) = sent(&mut Outbox(Arc::clone(&stream))).await;
        assert_eq!(answer["requestId"], "odd");
        let busy = "this member already has 1028 calls in flight";
        assert_eq!(answer["error"]["message"], busy);
        assert_eq!(answer["error"]["retryable"], true);
    }

    #[tokio::test]
    async fn a_member_that_stops_says_so_and_answers_what_comes_nevertheless() {
        let gate = Arc::new(Notify::new());
        let opened = Arc::clone(&gate);
        let member = Member::new("127.0.0.1:1").detached("price");
        let member = member.processor("price", move |_| {
            let opened = Arc::clone(&opened);
            async move {
                opened.notified().await;
                Ok(json!({"sku": "done"}))
            }
        });
        let (membership, stream) = on_a_stream(member);
        let greeting = json!({"success": true, "memberId": "m-1", "joinedLegalEntityId": "t"});
        let serving = Arc::clone(&membership.serving);
        serving
            .joined(&stream, &event("CalculationMemberGreetEvent", greeting))
            .expect("a greeting");
        membership.connection.use_stream(Arc::clone(&stream));
        serving.receive(&stream, call("first"));
        let begun = Instant::now();
        // The server never answers that it has taken note, which takes 2 s.
        let leaving = tokio::spawn(async move {
            membership.leave_within(Duration::from_secs(4)).await;
        });
        let mut outbox = Outbox(Arc::clone(&stream));
        let (event_type, drain) = sent(&mut outbox).await;
        assert_eq!(event_type, "WorkerDrainRequest");
        assert_eq!(drain["workerId"], "m-1");
        assert!(drain["id"].is_string(), "{drain}");
        let stopping = json!({"code": "MEMBER_STOPPING", "message": "the member is stopping", "retryable": true});
        serving.receive(&stream, call("late"));
        let (event_type, answer) = sent(&mut outbox).await;
        assert_eq!(event_type, "EntityProcessorCalculationResponse");
        assert_eq!(answer["requestId"], "late");
        assert_eq!(answer["success"], false);
        assert_eq!(answer["error"], stopping);
        let task = json!({
            "requestId": "task", "taskId": "t", "name": "charge", "kind": "action", "attempt": 1,
            "success": true, "input": {}, "namespace": "default", "idempotencyKey": "k",
            "deadline": "2030-01-01T00:00:00Z"
        });
        serving.receive(&stream, event("TaskCalculationRequest", task));
        let (event_type, answer) = sent(&mut outbox).await;
        assert_eq!(event_type, "TaskCalculationResponse");
        assert_eq!(answer["requestId"], "task");
        assert_eq!(answer["error"], stopping);
        gate.notify_one();
        let (_, answer) = sent(&mut outbox).await;
        assert_eq!(answer["requestId"], "first");
        assert_eq!(answer["success"], true);
        leaving.await.expect("no panic");
        assert!(begun.elapsed() < Duration::from_secs(10));
    }
}
