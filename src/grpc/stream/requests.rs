//! The requests of one stream: those in flight, those waiting, and their answers.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use futures_util::{FutureExt as _, StreamExt as _};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::outbound::{Ended, Queue};
use crate::auth::Login;
use crate::error::{Code, Failure};
use crate::event::{Event, TOKEN_ATTRIBUTE};
use crate::grpc::StreamSettings;
use crate::operation::{self, Announced, Answers, Context, Hold, Reply, Route, Services, dispatch};

/// How many bytes of requests may be in flight, and as many may wait, unless one alone is larger.
const BYTES_MAX: usize = 64 << 20;

/// How many requests with a transaction token may be in flight. They and their bytes, which have the
/// same limit, are counted apart from the others: a transaction waits for them.
const JOINED_MAX: usize = 1_024;

/// When to retry.
const RETRY_AFTER: Duration = Duration::from_millis(100);

/// The requests of one stream.
///
/// A mutex, not a task: admitting and finishing a request are a look-up each.
pub(super) struct Requests {
    services: Services,
    settings: StreamSettings,
    queue: Queue,
    tasks: TaskTracker,
    /// Holds nothing itself; each request holds its bytes.
    hold: Hold,
    state: Mutex<State>,
    /// Notified when a request has ended.
    changed: Notify,
}

#[derive(Default)]
struct State {
    /// All unanswered requests, by id.
    unanswered: HashMap<Box<str>, Unanswered>,
    waiting: VecDeque<Waiting>,
    waiting_bytes: usize,
    working: usize,
    working_bytes: usize,
    /// Requests in flight with a transaction token.
    joined: usize,
    joined_bytes: usize,
    /// Only requests that join an open transaction are still accepted.
    refuses: bool,
}

/// A request whose answer is not complete.
struct Unanswered {
    cancel: CancellationToken,
    answers: Answers,
}

/// A request that waits for its turn.
struct Waiting {
    event: Event,
    login: Login,
    cancel: CancellationToken,
    hold: Hold,
    /// For one that joins an open transaction, which waits for it.
    announced: Option<Announced>,
}

/// The admission of a request.
pub(super) enum Admission {
    /// It will be answered.
    Taken,
    /// It is not a valid request.
    Refused(Failure),
    /// It is already answered by this.
    Answered(Reply),
}

impl Requests {
    pub(super) fn new(
        services: Services,
        settings: StreamSettings,
        queue: Queue,
        tasks: TaskTracker,
        hold: Hold,
    ) -> Arc<Self> {
        Arc::new(Self {
            services,
            settings,
            queue,
            tasks,
            hold,
            state: Mutex::default(),
            changed: Notify::new(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Whether another request can be admitted.
    pub(super) fn has_room(&self) -> bool {
        self.hold.has_room() && self.lock().has_room(&self.settings)
    }

    /// Returns when there may be new room.
    pub(super) async fn changed(&self) {
        tokio::select! {
            () = self.changed.notified() => {}
            () = self.hold.freed_unless(|| self.has_room()) => {}
        }
    }

    /// Makes waiting tasks check again.
    pub(super) fn nudge(&self) {
        self.changed.notify_one();
    }

    /// Admits a request, in order of arrival. With `owes_answers` the stream must be read in any
    /// case, so a request for which there is no room is answered at once.
    pub(super) fn admit(
        self: &Arc<Self>,
        login: &Login,
        event: Event,
        owes_answers: bool,
    ) -> Admission {
        let Some(route) = Route::of(event.kind) else {
            return Admission::Refused(Failure::unknown_type(event.kind.as_str()));
        };
        if event.id.is_empty() {
            return Admission::Refused(Failure::malformed(
                "a request needs an envelope id, to which its answers refer",
            ));
        }
        let joins = event
            .attribute(TOKEN_ATTRIBUTE)
            .is_some_and(|token| !token.is_empty());
        let mut state = self.lock();
        if state.refuses && !joins {
            return Admission::Answered(refused_by_stop(&event));
        }
        if state.unanswered.contains_key(&event.id) {
            return Admission::Refused(Failure::malformed(format!(
                "a request with the envelope id `{}` is in flight on this stream; use another",
                event.id
            )));
        }
        let is_full = if joins {
            let is_too_large = state.joined_bytes.saturating_add(event.len()) > BYTES_MAX;
            state.joined >= JOINED_MAX || (state.joined > 0 && is_too_large)
        } else {
            owes_answers && !state.has_room(&self.settings)
        };
        // Endless answers must leave places to others; and a request waiting for such a place might
        // wait forever.
        let is_too_much =
            route.answers == Answers::Live && state.live() >= self.settings.live_max();
        if is_full || is_too_much {
            let message = if is_full {
                "too many requests are waiting on this stream; wait for answers"
            } else {
                "too many subscriptions are on this stream; cancel one, or open another stream"
            };
            let failure = Failure::new(Code::TooManyRequests, message).retry_after(RETRY_AFTER);
            return Admission::Answered(Reply::new(
                &event.id,
                event.kind,
                Err(failure),
                CancellationToken::new(),
            ));
        }
        let hold = self.hold.another();
        // Requests that an open transaction waits for are always admitted.
        if let Err(failure) = hold.try_hold(event.len())
            && !joins
        {
            return Admission::Answered(Reply::new(
                &event.id,
                event.kind,
                Err(failure),
                CancellationToken::new(),
            ));
        }
        let cancel = CancellationToken::new();
        let unanswered = Unanswered {
            cancel: cancel.clone(),
            answers: route.answers,
        };
        state.unanswered.insert(event.id.clone(), unanswered);
        let mut request = Waiting {
            event,
            login: login.clone(),
            cancel,
            hold,
            announced: None,
        };
        if joins {
            state.joined += 1;
            state.joined_bytes += request.event.len();
            drop(state);
            // Here, in the order of arrival: the answer of the member may be next.
            request.announced = self.services.announce(login, &request.event);
            self.tasks.spawn(Arc::clone(self).work_joined(request));
        } else if state.may_begin(&request, &self.settings) {
            state.begin(&request);
            drop(state);
            self.begin(request);
        } else {
            state.waiting_bytes += request.event.len();
            state.waiting.push_back(request);
        }
        Admission::Taken
    }

    /// Cancels a request; false if none of that id is in flight.
    pub(super) fn cancel(&self, id: &str) -> bool {
        let mut state = self.lock();
        let Some(unanswered) = state.unanswered.get(id) else {
            return false;
        };
        unanswered.cancel.cancel();
        // One that has not begun is answered now.
        if let Some(at) = state
            .waiting
            .iter()
            .position(|waiting| &*waiting.event.id == id)
            && let Some(waiting) = state.waiting.remove(at)
        {
            state.waiting_bytes -= waiting.event.len();
            state.unanswered.remove(id);
            drop(state);
            self.push(Reply::cancelled(id, waiting.event.kind));
            self.changed.notify_one();
        }
        true
    }

    /// Queues a reply without waiting.
    pub(super) fn push(&self, reply: Reply) {
        let mut events = reply.into_events();
        while let Some(Some(event)) = events.next().now_or_never() {
            self.queue.push(event);
        }
    }

    /// From now on only requests with a transaction token begin. The answers to those that waited.
    pub(super) fn refuse_new(&self) -> Vec<Reply> {
        let mut state = self.lock();
        state.refuses = true;
        let waiting = std::mem::take(&mut state.waiting);
        for request in &waiting {
            state.unanswered.remove(&request.event.id);
        }
        drop(state);
        let refused = waiting
            .iter()
            .map(|request| refused_by_stop(&request.event));
        refused.collect()
    }

    /// Cancels everything: nobody waits for answers.
    pub(super) fn give_up(&self) {
        self.refuse_new();
        for unanswered in self.lock().unanswered.values() {
            unanswered.cancel.cancel();
        }
    }

    /// Returns when every request has been answered.
    pub(super) async fn all_answered(&self) {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if self.lock().unanswered.is_empty() {
                return;
            }
            changed.await;
        }
    }

    fn begin(self: &Arc<Self>, request: Waiting) {
        self.tasks.spawn(Arc::clone(self).work(request));
    }

    /// Runs a request, then waiting ones.
    async fn work(self: Arc<Self>, first: Waiting) {
        let mut next = Some(first);
        while let Some(request) = next {
            let bytes = request.event.len();
            self.answer(request).await;
            let mut state = self.lock();
            state.working -= 1;
            state.working_bytes -= bytes;
            next = state.next(&self.settings);
            // A large one leaves room for several.
            while let Some(more) = state.next(&self.settings) {
                self.begin(more);
            }
            drop(state);
            self.changed.notify_one();
        }
    }

    async fn work_joined(self: Arc<Self>, request: Waiting) {
        let bytes = request.event.len();
        self.answer(request).await;
        let mut state = self.lock();
        state.joined -= 1;
        state.joined_bytes -= bytes;
        drop(state);
        self.changed.notify_one();
    }

    async fn send(&self, reply: Reply) -> Result<(), Ended> {
        match reply {
            Reply::One(event) => self.queue.send(event).await,
            Reply::Many(mut events) => {
                while let Some(event) = events.next().await {
                    self.queue.send(event).await?;
                }
                Ok(())
            }
        }
    }

    async fn answer(&self, request: Waiting) {
        let Waiting {
            event,
            login,
            cancel,
            hold,
            announced,
        } = request;
        let id = event.id.clone();
        let cx = Context::new(&self.services, login, &event, None, cancel.clone())
            .holding(Some(Arc::new(hold)));
        let kind = event.kind;
        let reply = if cancel.is_cancelled() {
            Reply::cancelled(&id, kind)
        } else {
            Reply::new(&id, kind, dispatch(cx, event).await, cancel)
        };
        drop(announced);
        // The client may be gone; there is nobody else to notify.
        let _ = self.send(reply).await;
        self.lock().unanswered.remove(&id);
    }
}

/// The answer to a request that is not begun because the server stops.
fn refused_by_stop(event: &Event) -> Reply {
    let failure = Err(operation::stopping());
    Reply::new(&event.id, event.kind, failure, CancellationToken::new())
}

impl State {
    /// How many requests have an endless answer.
    fn live(&self) -> usize {
        let all = self.unanswered.values();
        all.filter(|unanswered| unanswered.answers == Answers::Live)
            .count()
    }

    fn has_room(&self, settings: &StreamSettings) -> bool {
        self.waiting.is_empty() && self.working < settings.in_flight_max
            || self.waiting.len() < settings.queued_max && self.waiting_bytes < BYTES_MAX
    }

    fn may_begin(&self, request: &Waiting, settings: &StreamSettings) -> bool {
        self.waiting.is_empty() && self.fits(request, settings)
    }

    fn fits(&self, request: &Waiting, settings: &StreamSettings) -> bool {
        self.working == 0
            || self.working < settings.in_flight_max
                && self.working_bytes + request.event.len() <= BYTES_MAX
    }

    fn begin(&mut self, request: &Waiting) {
        self.working += 1;
        self.working_bytes += request.event.len();
    }

    fn next(&mut self, settings: &StreamSettings) -> Option<Waiting> {
        if !self
            .waiting
            .front()
            .is_some_and(|request| self.fits(request, settings))
        {
            return None;
        }
        let request = self.waiting.pop_front()?;
        self.waiting_bytes -= request.event.len();
        self.begin(&request);
        Some(request)
    }
}
