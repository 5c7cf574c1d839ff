//! Serves the calls and tasks of the server.

use std::{
    any::Any,
    collections::{HashMap, HashSet},
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, MutexGuard, Weak},
};

use futures_util::{FutureExt as _, future::BoxFuture};
use serde_json::json;
use tokio::{
    sync::{Notify, Semaphore},
    time::{Instant, sleep_until},
};
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use super::{
    Kind, Settings,
    bounded::{FAILURE_BYTES_MAX, LOGGED_BYTES_MAX, bounded},
    call::{self, Call, Done, trace_of},
    failure::{Failure, HandlerResult, retry},
    task::{self, Outcome, Task},
};
use crate::{
    Code, Error, Json, Result,
    api::{
        CalculationMemberGreetEvent, CalculationMemberJoinEvent, CalculationMemberKeepAliveEvent,
        TaskCancelEvent,
    },
    connection::{Connection, Peer},
    envelope::{TRACE_PARENT, kind},
    generated::cloudevents::CloudEvent,
    stream::{Receiver, Stream},
    sync::locked,
    trace,
};

/// How many calls and tasks may wait, besides as many as may run at once; further ones are rejected
/// as retryable.
const WAITING_MAX: usize = 1024;

type CallHandler = Arc<dyn Fn(Call) -> BoxFuture<'static, HandlerResult<Done>> + Send + Sync>;
type TaskHandler = Arc<dyn Fn(Task) -> BoxFuture<'static, HandlerResult<Outcome>> + Send + Sync>;

#[derive(Default)]
pub(super) struct Handlers {
    pub(super) calls: HashMap<(Kind, String), CallHandler>,
    pub(super) tasks: HashMap<String, TaskHandler>,
    /// The names of those that work without the entity.
    pub(super) detached: HashSet<String>,
}

pub(super) struct Serving {
    me: Weak<Self>,
    target: String,
    settings: Settings,
    handlers: Handlers,
    places: Semaphore,
    /// A task may cause calls, so it does not take their places.
    task_places: Semaphore,
    work: Mutex<Work>,
    idle: Notify,
}

#[derive(Default)]
struct Work {
    running: usize,
    is_draining: bool,
    /// How many running calls are part of a transaction.
    transactions: HashMap<String, usize>,
    tasks: HashMap<String, CancellationToken>,
}

impl Serving {
    pub(super) fn new(
        connection: &Connection,
        settings: Settings,
        handlers: Handlers,
    ) -> Arc<Self> {
        let made = Arc::new_cyclic(|me: &Weak<Self>| Self {
            me: me.clone(),
            target: connection.target().to_owned(),
            places: Semaphore::new(settings.concurrency),
            task_places: Semaphore::new(settings.concurrency),
            settings,
            handlers,
            work: Mutex::default(),
            idle: Notify::new(),
        });
        let peer: Weak<Self> = Arc::downgrade(&made);
        connection.serve(peer);
        made
    }

    fn work(&self) -> MutexGuard<'_, Work> {
        locked(&self.work)
    }

    /// How many calls and tasks may run or wait.
    fn work_max(&self) -> usize {
        let running = self.settings.concurrency.saturating_mul(2);
        running.saturating_add(WAITING_MAX)
    }

    pub(super) fn is_draining(&self) -> bool {
        self.work().is_draining
    }

    /// Begins nothing more.
    pub(super) fn stop_taking(&self) {
        self.work().is_draining = true;
    }

    /// Waits until nothing is running.
    pub(super) async fn drained(&self) {
        loop {
            let idle = self.idle.notified();
            if self.work().running == 0 {
                return;
            }
            idle.await;
        }
    }

    fn begin_call(&self, on: &Arc<Stream>, event: &CloudEvent) -> Result<()> {
        let (kind, call) = Call::read(on, event)?;
        let Some(me) = self.me.upgrade() else {
            return Ok(());
        };
        let mut work = self.work();
        // A running call waits for those that it has caused in its transaction: were they to wait
        // for its place, or to be left when the member stops, neither would ever end. The
        // transaction of a task is not known, so while there are tasks any may be one of those.
        let transaction = call.transaction_id.clone();
        let is_nested = transaction
            .as_ref()
            .is_some_and(|id| work.transactions.contains_key(id));
        let is_stopping = work.is_draining && !is_nested && work.tasks.is_empty();
        if let Err(refused) = work.admit(is_stopping, self.work_max()) {
            drop(work);
            let pending = call::Pending::of(&call);
            answer(on, kind.response(), &pending.response(Err(&refused))?);
            return Ok(());
        }
        drop(work);
        let running = Running(Arc::clone(&me));
        let nested = is_nested.then(|| InTransaction::enter(&me, transaction));
        let span = tracing::info_span!(
            "call",
            otel.kind = "server",
            otel.name = format!("{} {}", kind.name(), call.name),
            kind = kind.name(),
            name = call.name,
            entity = call.entity_id,
            traceparent = event.attribute(TRACE_PARENT),
        );
        trace::continue_in(&span, &trace_of(event));
        let on = Arc::clone(on);
        let serving = async move {
            let _running = running;
            let ended = on.ended().clone();
            let (until, cancelled) = (call.until, call.cancellation().clone());
            tokio::select! {
                // What the server has given up is not begun.
                biased;
                () = ended.cancelled() => tracing::info!("a call was given up with its stream"),
                () = passed(until) => {
                    cancelled.cancel();
                    tracing::debug!("a call was given up: its time was up");
                }
                () = me.serve_call(&on, kind, call, nested) => {}
            }
        };
        tokio::spawn(serving.instrument(span));
        Ok(())
    }

    async fn serve_call(
        self: &Arc<Self>,
        on: &Stream,
        kind: Kind,
        call: Call,
        nested: Option<InTransaction>,
    ) {
        let (_place, _inside) = if let Some(inside) = nested {
            (None, inside)
        } else {
            let place = self.places.acquire().await.ok();
            let inside = InTransaction::enter(self, call.transaction_id.clone());
            (place, inside)
        };
        let pending = call::Pending::of(&call);
        let needs_entity = !self.handlers.detached.contains(&call.name);
        let done = match self.handlers.calls.get(&(kind, call.name.clone())) {
            Some(_) if call.entity.is_none() && needs_entity => Err(call.without_entity()),
            Some(handler) => executed(handler, call).await,
            None => Err(retry(format!(
                "this member has no {} `{}`",
                kind.name(),
                call.name
            ))),
        };
        let forget_warnings = || pending.forget_warnings();
        finish(on, kind.response(), done, forget_warnings, |done| {
            pending.response(done)
        });
    }

    fn begin_task(&self, on: &Arc<Stream>, event: &CloudEvent) -> Result<()> {
        let task = Task::read(on, event)?;
        let Some(me) = self.me.upgrade() else {
            return Ok(());
        };
        let mut work = self.work();
        let is_stopping = work.is_draining;
        if let Err(refused) = work.admit(is_stopping, self.work_max()) {
            drop(work);
            let pending = task::Pending::of(&task);
            answer(on, kind::TASK_RESPONSE, &pending.response(Err(&refused))?);
            return Ok(());
        }
        let request_id = task.request_id.clone();
        let cancelled = task.cancellation().clone();
        work.tasks.insert(request_id.clone(), cancelled.clone());
        drop(work);
        let running = Running(Arc::clone(&me));
        let span = tracing::info_span!(
            "call",
            otel.kind = "server",
            otel.name = format!("action {}", task.name),
            kind = "action",
            name = task.name,
            task = task.id,
            run = task.run_id,
            traceparent = event.attribute(TRACE_PARENT),
        );
        trace::continue_in(&span, &trace_of(event));
        let on = Arc::clone(on);
        let serving = async move {
            let _running = running;
            let _known = KnownTask(Arc::clone(&me), request_id);
            // The server repeats and undoes a call of a saga; it expects no other answer.
            let pending = task.is_connector_call.then(|| task::Pending::of(&task));
            tokio::select! {
                // What the server has given up is not begun.
                biased;
                () = cancelled.cancelled() => {
                    tracing::info!("a task was given up");
                    if let Some(pending) = pending {
                        let forget_warnings = || pending.forget_warnings();
                        let done = Err(Failure::cancelled());
                        finish(&on, kind::TASK_RESPONSE, done, forget_warnings, |done| {
                            pending.response(done)
                        });
                    }
                }
                () = me.serve_task(&on, task) => {}
            }
        };
        tokio::spawn(serving.instrument(span));
        Ok(())
    }

    async fn serve_task(&self, on: &Stream, task: Task) {
        let _place = self.task_places.acquire().await.ok();
        let pending = task::Pending::of(&task);
        let done = match self.handlers.tasks.get(&task.name) {
            Some(handler) => executed(handler, task).await,
            None => Err(retry(format!("this member has no action `{}`", task.name))),
        };
        let forget_warnings = || pending.forget_warnings();
        finish(on, kind::TASK_RESPONSE, done, forget_warnings, |done| {
            pending.response(done)
        });
    }

    /// Gives up a task that the server has cancelled.
    fn cancel_task(&self, event: &CloudEvent) -> Result<()> {
        let read: TaskCancelEvent = read(event)?;
        if let Some(task) = self.work().tasks.get(&read.request_id) {
            task.cancel();
        }
        Ok(())
    }

    fn use_event(&self, on: &Arc<Stream>, event: &CloudEvent) -> Result<()> {
        match event.r#type.as_str() {
            kind::KEEP_ALIVE => {
                let probe: CalculationMemberKeepAliveEvent = read(event)?;
                let payload = json!({"sourceEventId": probe.id, "success": true});
                on.send(CloudEvent::of(kind::ACKNOWLEDGEMENT, &payload.into())?);
                Ok(())
            }
            kind::TASK => self.begin_task(on, event),
            kind::TASK_CANCEL => self.cancel_task(event),
            kind::ACKNOWLEDGEMENT => Error::in_answer(event.text()?),
            _ => self.begin_call(on, event),
        }
    }
}

fn read<T: serde::de::DeserializeOwned>(event: &CloudEvent) -> Result<T> {
    serde_json::from_str(event.text()?).map_err(|source| {
        let message = format!("cannot read the {}", event.r#type);
        Error::caused(Code::InvalidJson, message, source)
    })
}

impl Receiver for Serving {
    fn receive(&self, on: &Arc<Stream>, event: CloudEvent) {
        if let Err(error) = self.use_event(on, &event) {
            // One invalid event is no reason to end the stream.
            tracing::warn!(kind = event.r#type, %error, "cannot use an event of the server");
            refuse_unread(on, &event, error);
        }
    }
}

impl Peer for Serving {
    fn join(&self) -> Result<CloudEvent> {
        let mut join = CalculationMemberJoinEvent::new().tags(self.settings.tags.iter().cloned());
        let mut actions: Vec<_> = self.handlers.tasks.keys().cloned().collect();
        if !actions.is_empty() {
            actions.sort_unstable();
            join = join
                .actions(actions)
                .max_concurrency(u32::try_from(self.settings.concurrency).unwrap_or(u32::MAX));
            join.namespace.clone_from(&self.settings.namespace);
            if !self.settings.labels.is_empty() {
                join = join.labels(self.settings.labels.clone());
            }
        }
        CloudEvent::of(kind::JOIN, &Json::encode(&join)?)
    }

    fn joined(&self, on: &Stream, greeting: &CloudEvent) -> Result<()> {
        Error::in_answer(greeting.text()?)?;
        let read: CalculationMemberGreetEvent = read(greeting)?;
        tracing::info!(target = self.target, member = ?read.member_id, "joined");
        // There is one for each stream.
        let _ = on.member.set(read.member_id);
        Ok(())
    }
}

impl Work {
    /// Counts one more call, unless the member is stopping or there are too many.
    fn admit(&mut self, is_stopping: bool, most: usize) -> Result<(), Failure> {
        if is_stopping {
            return Err(Failure::stopping());
        }
        if self.running >= most {
            let text = format!("this member already has {most} calls in flight");
            return Err(retry(text));
        }
        self.running += 1;
        Ok(())
    }
}

/// Waits until that time; without one, for ever.
async fn passed(time: Option<Instant>) {
    match time {
        Some(time) if time <= Instant::now() => {}
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}

/// A call or a task that was admitted.
struct Running(Arc<Serving>);

impl Drop for Running {
    fn drop(&mut self) {
        let mut work = self.0.work();
        work.running -= 1;
        if work.running == 0 {
            self.0.idle.notify_waiters();
        }
    }
}

/// A task that may be cancelled.
struct KnownTask(Arc<Serving>, String);

impl Drop for KnownTask {
    fn drop(&mut self) {
        self.0.work().tasks.remove(&self.1);
    }
}

/// A running call that is part of a transaction.
struct InTransaction(Arc<Serving>, Option<String>);

impl InTransaction {
    fn enter(serving: &Arc<Serving>, id: Option<String>) -> Self {
        if let Some(id) = &id {
            *serving.work().transactions.entry(id.clone()).or_default() += 1;
        }
        Self(Arc::clone(serving), id)
    }
}

impl Drop for InTransaction {
    fn drop(&mut self) {
        let Some(id) = self.1.take() else {
            return;
        };
        let mut work = self.0.work();
        if let Some(count) = work.transactions.get_mut(&id) {
            *count -= 1;
            if *count == 0 {
                work.transactions.remove(&id);
            }
        }
    }
}

/// Executes a handler. A panic is a failure of the call alone.
async fn executed<C, T>(
    handler: &Arc<dyn Fn(C) -> BoxFuture<'static, HandlerResult<T>> + Send + Sync>,
    work: C,
) -> HandlerResult<T> {
    // The function itself may panic, too, before there is a future.
    let executing = async { handler(work).await };
    let executed = AssertUnwindSafe(executing).catch_unwind().await;
    let done = executed.unwrap_or_else(|panic| Err(Failure::panicked(text_of(&*panic))));
    if let Err(failure) = &done {
        let failure = bounded(failure.message(), LOGGED_BYTES_MAX);
        tracing::info!(%failure, "a handler failed");
    }
    done
}

fn text_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("for an unknown reason")
}

/// Sends what came out of a handler. On a stream that has ended it is dropped: the transaction has
/// ended with it.
fn finish<T>(
    on: &Stream,
    response: &str,
    done: HandlerResult<T>,
    forget_warnings: impl Fn(),
    write: impl Fn(Result<T, &Failure>) -> Result<Json>,
) {
    let event = |done: Result<T, &Failure>| {
        let event = CloudEvent::of(response, &write(done)?)?;
        // The server would end the stream for one that is too large.
        event.check_size(on.message_bytes_max)?;
        Ok(event)
    };
    let attempted = done.and_then(|done| event(Ok(done)).map_err(Failure::from));
    let attempted = attempted.or_else(|failure| {
        event(Err(&failure)).or_else(|_: Error| {
            // That it failed matters more than the warnings.
            forget_warnings();
            event(Err(&failure))
        })
    });
    match attempted {
        Ok(event) => on.send(event),
        Err(error) => tracing::error!(%error, "cannot send a failure"),
    }
}

/// Answers a call that cannot be read, if its id can: another member may be able to read it.
fn refuse_unread(on: &Stream, event: &CloudEvent, error: Error) {
    let response = match Kind::of(&event.r#type) {
        Some(kind) => kind.response(),
        None if event.r#type == kind::TASK => kind::TASK_RESPONSE,
        None => return,
    };
    let Some(request_id) = event.text().ok().and_then(request_id_in) else {
        return;
    };
    let reason = Failure::from(error);
    let message = format!("this member cannot read the call: {}", reason.message());
    let message = bounded(&message, FAILURE_BYTES_MAX);
    let error = json!({"message": message, "retryable": true});
    let payload = json!({"requestId": request_id, "success": false, "error": error});
    answer(on, response, &payload.into());
}

/// The id of a call in a text that need not be JSON.
fn request_id_in(text: &str) -> Option<&str> {
    text.match_indices("\"requestId\"").find_map(|(at, name)| {
        let value = text[at + name.len()..].trim_start().strip_prefix(':')?;
        let (id, _) = value.trim_start().strip_prefix('"')?.split_once('"')?;
        (!id.is_empty() && !id.contains('\\')).then_some(id)
    })
}

fn answer(on: &Stream, response: &str, payload: &Json) {
    match CloudEvent::of(response, payload) {
        Ok(event) => on.send(event),
        Err(error) => tracing::error!(%error, "cannot write an answer"),
    }
}
