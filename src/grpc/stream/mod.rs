//! One stream: requests of any type, and the work of a member (`stream.md` §2).
//!
//! One task reads and decides; it never waits for answers to be sent. Requests run in their own
//! tasks, and everything that is sent goes through one bounded queue.

mod outbound;
mod requests;

use std::{sync::Arc, time::Duration};

use futures_util::FutureExt as _;
use tokio::{
    sync::mpsc,
    time::{Instant, MissedTickBehavior, interval, sleep, timeout},
};
use tokio_util::sync::CancellationToken;
use tonic::{Status, Streaming};
use tracing::{debug, info, warn};

use super::{Service, invalid, member, message_too_large, stopping, task};
use crate::auth::{self, Login, ROLE_M2M};
use crate::compute::{
    self, Membership,
    tasks::{Announced, Channels, Sent, TaskMembership},
};
use crate::dispatch::Tags;
use crate::error::{Code, Failure};
use crate::event::{
    Event, EventType,
    frame::Frame,
    payload::{self, stream},
};
use crate::id::{CallId, MemberId, MessageId};
use crate::operation::{Hold, acknowledgement, refusal};
use crate::text;

pub use outbound::Outbound;

use outbound::Queue;
use requests::{Admission, Requests};

/// How long a new stream may be silent.
const FIRST_MESSAGE_TIMEOUT: Duration = Duration::from_secs(30);

/// How many characters of a member's tags are logged.
const TAGS_SHOWN: usize = 200;

/// How many calls may wait to be sent to one member; further ones wait with their callers.
const CALLS_QUEUED: usize = 64;

/// How long requests in flight may take once the server stops.
const GRACE: Duration = Duration::from_secs(10);

/// How long requests in flight may take once the caller's credentials were revoked. The answer may
/// be a secret that is returned only once, to a client that has replaced its own.
const GRACE_OF_WITHDRAWN: Duration = Duration::from_millis(500);

/// Serves a stream until it ends; returns its outbound side.
pub(super) fn start(
    service: Service,
    login: Login,
    hold: Hold,
    inbound: Streaming<Frame>,
) -> Outbound {
    let (queue, outbound) = outbound::queue(service.streams.send_timeout);
    let tasks = service.tasks.clone();
    let session = Session {
        requests: Requests::new(
            service.services.clone(),
            service.streams,
            queue.clone(),
            tasks.clone(),
            hold,
        ),
        queue,
        login,
        membership: None,
        last_seen: Instant::now(),
        service,
    };
    tasks.spawn(session.run(inbound));
    outbound
}

struct Session {
    service: Service,
    login: Login,
    queue: Queue,
    requests: Arc<Requests>,
    membership: Option<Joined>,
    last_seen: Instant,
}

/// A membership, and the task that sends calls to the member.
struct Joined {
    membership: Membership,
    tasks: TaskMembership,
    _forwarding: tokio_util::sync::DropGuard,
}

/// Why a stream ended.
enum End {
    /// The client has closed its side; requests in flight are still answered.
    HalfClose,
    /// The client is gone.
    Gone,
    /// Queued events are sent, then this status.
    Stopping(Status),
    /// The caller's credentials were revoked: what has begun is answered if that is soon.
    Withdrawn,
    /// At once.
    Status(Status),
}

impl Session {
    async fn run(mut self, mut inbound: Streaming<Frame>) {
        let end = self.serve(&mut inbound).await;
        let login = self.login.clone();
        // From here on the member is not called any more, and its calls have failed.
        drop(self.membership.take());
        match end {
            End::HalfClose => {
                let is_withdrawn = tokio::select! {
                    biased;
                    () = login.withdrawn() => true,
                    // Subscriptions end by themselves when the login is revoked, which must not
                    // look like a successful end of the stream.
                    () = self.requests.all_answered() => login.withdrawn().now_or_never().is_some(),
                    () = self.queue.ended() => false,
                };
                if is_withdrawn {
                    return self.end_withdrawn().await;
                }
                self.requests.give_up();
                self.queue.close(None);
            }
            End::Withdrawn => self.end_withdrawn().await,
            End::Gone => {
                self.requests.give_up();
                self.queue.close(None);
            }
            End::Stopping(status) => {
                self.requests.give_up();
                self.queue.close(Some(status));
            }
            End::Status(status) => {
                info!(status = %status.code(), reason = status.message(), "stream ended");
                self.requests.give_up();
                self.queue.fail(status);
            }
        }
    }

    /// Ends the stream of a caller whose credentials were revoked.
    async fn end_withdrawn(&self) {
        info!("stream ended: the caller's credentials were revoked");
        self.requests.refuse_new();
        let answered = async {
            self.requests.all_answered().await;
            self.queue.drained().await;
        };
        let _ = timeout(GRACE_OF_WITHDRAWN, answered).await;
        self.requests.give_up();
        self.queue.fail(withdrawn());
    }

    async fn serve(&mut self, inbound: &mut Streaming<Frame>) -> End {
        let silence = sleep(FIRST_MESSAGE_TIMEOUT);
        tokio::pin!(silence);
        let mut is_silent = true;
        let mut probes = interval(self.service.streams.keep_alive_interval);
        probes.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let stop = self.service.stop.clone();
        let login = self.login.clone();
        let withdrawal = login.withdrawn();
        tokio::pin!(withdrawal);
        let mut next = None;
        loop {
            if let Some(message) = next.take() {
                if is_silent {
                    is_silent = false;
                    probes.reset();
                }
                match message {
                    Ok(Some(frame)) => {
                        if let Err(status) = self.receive(frame) {
                            return End::Status(status);
                        }
                    }
                    Ok(None) => return End::HalfClose,
                    Err(status) => return self.ended_by(status),
                }
            }
            let is_full = self.queue.is_full();
            let reads = !is_full && (self.requests.has_room() || self.owes_answers());
            tokio::select! {
                message = inbound.message(), if reads => next = Some(message),
                // Every message is answered, so a client that does not read is not read, either.
                () = self.queue.room(), if is_full => self.last_seen = Instant::now(),
                // Room for another request, or a call that requires reading.
                () = self.requests.changed(), if !reads && !is_full => self.last_seen = Instant::now(),
                () = &mut silence, if is_silent => return End::Status(Status::deadline_exceeded(
                    "no message within 30 s after opening",
                )),
                _ = probes.tick(), if !is_silent => if let Err(status) = self.probe(reads) {
                    return End::Status(status);
                },
                () = self.queue.ended() => return End::Gone,
                () = &mut withdrawal => return End::Withdrawn,
                () = stop.cancelled() => return self.drain(inbound).await,
            }
        }
    }

    /// How the stream ends after a failure of the transport.
    #[expect(clippy::wildcard_enum_match_arm, reason = "the list is the library's")]
    fn ended_by(&self, status: Status) -> End {
        match status.code() {
            // The library's status for a message over the limit.
            tonic::Code::OutOfRange => End::Status(Status::resource_exhausted(message_too_large(
                self.service.message_max,
            ))),
            tonic::Code::Cancelled | tonic::Code::Unknown | tonic::Code::Unavailable => End::Gone,
            _ => End::Status(status),
        }
    }

    /// Whether the member has calls in flight that it must be able to answer.
    fn owes_answers(&self) -> bool {
        self.membership
            .as_ref()
            .is_some_and(|joined| joined.membership.has_calls_out() || joined.tasks.has_tasks_out())
    }

    /// Finishes the requests in flight; only requests that belong to them are still accepted.
    async fn drain(&mut self, inbound: &mut Streaming<Frame>) -> End {
        let requests = Arc::clone(&self.requests);
        for refused in requests.refuse_new() {
            requests.push(refused);
        }
        let in_flight = self.service.services.in_flight.clone();
        in_flight.close();
        let is_member = self.membership.is_some();
        let joined = self.membership.as_ref();
        let calls = joined.map(|joined| {
            joined.tasks.drain();
            joined.membership.answered_all()
        });
        let done = timeout(GRACE, async {
            // A member is called as long as requests may need it.
            if is_member {
                in_flight.wait().await;
            }
            requests.all_answered().await;
            // Other nodes have had calls made, too.
            if let Some(calls) = calls {
                calls.await;
            }
        });
        tokio::pin!(done);
        loop {
            tokio::select! {
                _ = &mut done => break,
                () = self.queue.room(), if self.queue.is_full() => {}
                message = inbound.message(), if !self.queue.is_full() => if let Ok(Some(frame)) = message { if let Err(status) = self.receive(frame) {
                    return End::Status(status);
                } } else {
                    let _ = done.await;
                    break;
                },
            }
        }
        End::Stopping(stopping())
    }

    /// Handles one message; an error ends the stream.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "every other type is a request, or refused as none"
    )]
    fn receive(&mut self, frame: Frame) -> Result<(), Status> {
        self.last_seen = Instant::now();
        if let Some(joined) = &self.membership {
            joined.membership.saw(self.service.services.now());
        }
        let event = match frame.event() {
            Ok(event) => event,
            Err(rejected) => {
                self.refuse(&rejected.id, &rejected.failure);
                return Ok(());
            }
        };
        match event.kind {
            EventType::CalculationMemberJoinEvent => self.join(&event)?,
            EventType::CalculationMemberKeepAliveEvent => {
                self.queue.push(acknowledgement(&event.id));
            }
            // It only shows that the client is alive.
            EventType::EventAckResponse => {}
            EventType::EntityProcessorCalculationResponse
            | EventType::EntityCriteriaCalculationResponse
            | EventType::EntityFunctionCalculationResponse => self.answered(&event),
            EventType::TaskCalculationResponse => self.task_answered(&event),
            EventType::EventCancelRequest => self.cancel(&event),
            _ => self.request(event),
        }
        Ok(())
    }

    fn refuse(&self, source: &str, failure: &Failure) {
        debug!(%failure, source, "event rejected");
        self.queue.push(refusal(source, failure));
    }

    fn request(&mut self, event: Event) {
        let id = event.id.clone();
        let owes_answers = self.owes_answers();
        match self.requests.admit(&self.login, event, owes_answers) {
            Admission::Taken => {}
            Admission::Refused(failure) => self.refuse(&id, &failure),
            Admission::Answered(reply) => self.requests.push(reply),
        }
    }

    fn cancel(&self, event: &Event) {
        let cancelled = event
            .text()
            .and_then(payload::decode::<stream::Cancel>)
            .and_then(|cancel| {
                if self.requests.cancel(&cancel.request_id) {
                    Ok(())
                } else {
                    Err(Failure::new(
                        Code::NotFound,
                        format!(
                            "no request `{}` is in flight on this stream",
                            cancel.request_id
                        ),
                    ))
                }
            });
        match cancelled {
            Ok(()) => self.queue.push(acknowledgement(&event.id)),
            Err(failure) => self.refuse(&event.id, &failure),
        }
    }

    /// Joins the stream as a member (`grpc.md` §9.1 and §9.2).
    fn join(&mut self, event: &Event) -> Result<(), Status> {
        if self.membership.is_some() {
            self.refuse(
                &event.id,
                &Failure::new(Code::AlreadyJoined, "this stream has already joined"),
            );
            return Ok(());
        }
        let mut join: payload::compute::Join = event
            .text()
            .and_then(payload::decode)
            .map_err(|failure| invalid(&failure))?;
        if !self.login.caller.roles.contain(ROLE_M2M) {
            return Err(Status::permission_denied("ROLE_M2M required for streaming"));
        }
        let tenant = &self.login.caller.tenant;
        if join
            .joined_legal_entity_id
            .take()
            .is_some_and(|given| !given.is_empty() && given != tenant.as_str())
        {
            return Err(Status::permission_denied("tenant mismatch"));
        }
        let id = MemberId::fresh();
        let tags: Tags = join.tags.iter().flatten().map(String::as_str).collect();
        let offered = join.offered().map_err(|failure| invalid(&failure))?;
        let announced = Announced {
            namespace: offered.namespace,
            actions: offered.actions,
            tags: tags.clone(),
            labels: offered.labels,
            max_concurrency: offered.max_concurrency,
            ..Announced::default()
        };
        let shown = tags.to_string();
        let shown = text::start(&shown, TAGS_SHOWN);
        info!(member.id = %id, %tenant, tags = shown, "member joined");
        let (outbox, calls) = mpsc::channel(CALLS_QUEUED);
        let now = self.service.services.now();
        let membership = self.service.members.join(tenant, id, tags, outbox, now);
        // The greeted member is already registered; no call overtakes the greeting, because calls
        // wait until they are forwarded.
        let greeting = payload::compute::greet(id, tenant);
        self.queue.push(Event::ours(
            EventType::CalculationMemberGreetEvent,
            greeting,
        ));
        let forwarding = CancellationToken::new();
        let forward = forward(
            calls,
            self.queue.clone(),
            Arc::clone(&self.requests),
            forwarding.clone(),
        );
        self.service.tasks.spawn(forward);
        let (outbox, sent) = mpsc::unbounded_channel();
        let tasks = self.service.channels.join(tenant, id, announced, outbox);
        let forward = forward_tasks(
            sent,
            self.service.channels.clone(),
            self.queue.clone(),
            Arc::clone(&self.requests),
            forwarding.clone(),
        );
        self.service.tasks.spawn(forward);
        self.membership = Some(Joined {
            membership,
            tasks,
            _forwarding: forwarding.drop_guard(),
        });
        Ok(())
    }

    fn answered(&self, event: &Event) {
        match member::answer(event) {
            Ok(answered) => {
                let known = match (&self.membership, answered.call) {
                    (Some(Joined { membership, .. }), Some(call)) => {
                        let entity = membership.entity_of(call);
                        if entity.is_some_and(|entity| answered.is_about_another(entity)) {
                            debug!(call.id = %call, "a member's response names another entity");
                        }
                        let is_known = if answered.is_declined {
                            membership.declined(call)
                        } else {
                            membership.answered(call, answered.response)
                        };
                        is_known || self.is_of_task(event, call)
                    }
                    _ => false,
                };
                if !known {
                    debug!(event.id = %event.id, "a response to a call that is not in flight");
                }
            }
            Err(failure) => {
                warn!(%failure, "a member's response could not be read");
                self.refuse(&event.id, &failure);
                let Some(joined) = &self.membership else {
                    return;
                };
                let of_call = member::unreadable(event, &failure)
                    .is_some_and(|(call, response)| joined.membership.answered(call, response));
                if !of_call {
                    // It may be to a task, which ends with it.
                    let _ = task::answer(event, &joined.tasks);
                }
            }
        }
    }

    /// Whether a response is to a task that was sent as a call of a processor.
    fn is_of_task(&self, event: &Event, call: CallId) -> bool {
        let tasks = self.membership.as_ref().map(|joined| &joined.tasks);
        tasks.is_some_and(|tasks| {
            tasks.knows(call) && task::answer(event, tasks).is_ok_and(|known| known)
        })
    }

    /// Takes a member's answer to a task.
    fn task_answered(&self, event: &Event) {
        let answered = match &self.membership {
            Some(joined) => task::answer(event, &joined.tasks),
            None => Ok(false),
        };
        if let Err(failure) = &answered {
            warn!(%failure, "a member's answer to a task could not be read");
            self.refuse(&event.id, failure);
        }
        if matches!(answered, Ok(true)) {
            return;
        }
        let of_call = self.membership.as_ref().is_some_and(|joined| {
            member::mistaken(event)
                .is_some_and(|(call, response)| joined.membership.answered(call, response))
        });
        if !of_call {
            debug!(event.id = %event.id, "an answer to a task that is not in flight");
        }
    }

    /// Probes a member, and ends its stream if it is silent for too long.
    fn probe(&mut self, reads: bool) -> Result<(), Status> {
        // While the server does not read, silence means nothing.
        if !reads {
            self.last_seen = Instant::now();
        }
        let Some(joined) = &self.membership else {
            return Ok(());
        };
        if self.last_seen.elapsed() > self.service.streams.keep_alive_timeout {
            return Err(Status::deadline_exceeded("keep-alive timeout"));
        }
        if self.queue.is_full() {
            return Ok(());
        }
        let probe =
            payload::compute::keep_alive(&MessageId::fresh().to_string(), joined.membership.id());
        self.queue.push(Event::ours(
            EventType::CalculationMemberKeepAliveEvent,
            probe,
        ));
        Ok(())
    }
}

/// The status of a stream whose credentials were revoked.
fn withdrawn() -> Status {
    Status::unauthenticated(auth::withdrawn().message())
}

impl Drop for Joined {
    fn drop(&mut self) {
        info!(member.id = %self.membership.id(), "member left");
    }
}

/// Sends calls to a member as fast as it reads them.
async fn forward(
    mut calls: mpsc::Receiver<compute::Request>,
    queue: Queue,
    requests: Arc<Requests>,
    stop: CancellationToken,
) {
    loop {
        let request = tokio::select! {
            request = calls.recv() => request,
            () = stop.cancelled() => None,
        };
        let Some(request) = request else { return };
        // Reading may have stopped for lack of room; now a response is expected.
        requests.nudge();
        if queue.send(member::call(&request)).await.is_err() {
            return;
        }
    }
}

/// Sends tasks to a member as fast as it reads them.
async fn forward_tasks(
    mut tasks: mpsc::UnboundedReceiver<Sent>,
    channels: Channels,
    queue: Queue,
    requests: Arc<Requests>,
    stop: CancellationToken,
) {
    loop {
        let sent = tokio::select! {
            sent = tasks.recv() => sent,
            () = stop.cancelled() => None,
        };
        let Some(sent) = sent else { return };
        // Reading may have stopped for lack of room; now an answer is expected.
        requests.nudge();
        let token = match &sent {
            Sent::Task(delivery) => channels.token(delivery),
            Sent::Cancel { .. } => None,
        };
        if queue.send(task::event(&sent, token)).await.is_err() {
            return;
        }
    }
}
