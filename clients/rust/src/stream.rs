//! One open stream: any number of requests, and their answers.

use std::{
    collections::{HashMap, VecDeque},
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, OnceLock},
    task::{Context, Poll, Waker},
    time::Duration,
};

use futures_util::Stream as FuturesStream;
use serde_json::json;
use tokio::{
    sync::{Notify, OwnedSemaphorePermit, Semaphore, oneshot},
    time::timeout,
};
use tokio_util::sync::CancellationToken;
use tonic::Streaming;

use crate::{
    Code, Error, Result,
    envelope::{REQUEST_ID, SEQUENCE, TRANSACTION, kind},
    generated::cloudevents::CloudEvent,
    sync::locked,
};

/// How many bytes of answers may be unread before the stream is no longer read, and the server
/// waits.
const UNREAD_BYTES_MAX: usize = 64 << 20;

/// How long that may last until the largest unread answer is dropped. The patience of the server
/// with a slow reader is 30 s.
const STALL_TIMEOUT: Duration = Duration::from_secs(10);

/// Bounds how many requests are unanswered.
///
/// Most requests are in the lane of their stream. Those in the transaction of a call are in a
/// lane of that call, because the others may be waiting for that very call.
#[derive(Clone)]
pub(crate) struct Lane {
    places: Arc<Semaphore>,
    transaction: Option<Arc<str>>,
}

impl Lane {
    pub(crate) fn new(places: usize, transaction: Option<Arc<str>>) -> Self {
        Self {
            places: Arc::new(Semaphore::new(places)),
            transaction,
        }
    }
}

/// Is given the events of the server that answer no request.
pub(crate) trait Receiver: Send + Sync {
    fn receive(&self, on: &Arc<Stream>, event: CloudEvent);
}

pub(crate) struct Stream {
    pub(crate) lane: Lane,
    /// The id of the member that has joined on it.
    pub(crate) member: OnceLock<String>,
    pub(crate) message_bytes_max: usize,
    /// Asks for the end of the stream.
    cancel: CancellationToken,
    /// Is cancelled when the stream has ended; calls of the server on it end with it.
    ended: CancellationToken,
    read: Notify,
    greeted: Mutex<Option<oneshot::Sender<CloudEvent>>>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    outbox: VecDeque<CloudEvent>,
    sender: Option<Waker>,
    is_closing: bool,
    answers: HashMap<String, Arriving>,
    unread_bytes: usize,
    failure: Option<Error>,
}

/// An answer that is not completely read yet, by the id of its request.
struct Arriving {
    events: VecDeque<CloudEvent>,
    unread_bytes: usize,
    is_sent: bool,
    is_complete: bool,
    /// Nobody reads it any more.
    is_left: bool,
    failure: Option<Error>,
    reader: Option<Waker>,
    place: Option<OwnedSemaphorePermit>,
}

impl Stream {
    pub(crate) fn new(
        in_flight: usize,
        message_bytes_max: usize,
        cancel: CancellationToken,
        greeted: oneshot::Sender<CloudEvent>,
    ) -> Arc<Self> {
        Arc::new(Self {
            lane: Lane::new(in_flight, None),
            member: OnceLock::new(),
            message_bytes_max,
            cancel,
            ended: CancellationToken::new(),
            read: Notify::new(),
            greeted: Mutex::new(Some(greeted)),
            state: Mutex::default(),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        locked(&self.state)
    }

    /// Reads until the stream ends.
    pub(crate) async fn serve(
        self: Arc<Self>,
        mut inbound: Streaming<CloudEvent>,
        receiver: Option<Arc<dyn Receiver>>,
    ) {
        let failure = loop {
            let message = tokio::select! {
                message = inbound.message() => message,
                () = self.cancel.cancelled() => break Error::lost("the stream was closed"),
            };
            match message {
                Ok(Some(event)) if event.attribute(REQUEST_ID).is_some() => {
                    self.take(event);
                    self.wait_for_readers().await;
                }
                Ok(Some(event)) => self.receive(event, receiver.as_deref()),
                Ok(None) => break Error::lost("the stream was closed"),
                Err(status) => break Error::of_status(&status),
            }
        };
        self.end(&failure);
    }

    fn receive(self: &Arc<Self>, event: CloudEvent, receiver: Option<&dyn Receiver>) {
        if event.r#type == kind::GREETING {
            let waiting = locked(&self.greeted).take();
            if let Some(waiting) = waiting {
                // If nobody waits any more, the stream is being given up.
                let _ = waiting.send(event);
            }
        } else if let Some(receiver) = receiver {
            receiver.receive(self, event);
        }
    }

    fn end(&self, failure: &Error) {
        let mut state = self.state();
        state.failure = Some(failure.clone());
        state.outbox.clear();
        state.answers.retain(|_, one| {
            let is_unread = one.failure.is_some();
            if !one.is_complete && !is_unread {
                let failure = failure.clone().or_lost();
                one.failure = Some(if one.is_sent {
                    failure
                } else {
                    failure.unsent()
                });
            }
            one.place = None;
            wake(&mut one.reader);
            !one.is_left || is_unread
        });
        wake(&mut state.sender);
        drop(state);
        self.ended.cancel();
    }

    /// Why the stream has ended, if it has.
    pub(crate) fn failure(&self) -> Option<Error> {
        self.state().failure.clone()
    }

    pub(crate) fn ended(&self) -> &CancellationToken {
        &self.ended
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.state().is_closing
    }

    /// Sends an event that has no answer; on a stream that has ended it is dropped.
    pub(crate) fn send(&self, event: CloudEvent) {
        let mut state = self.state();
        if state.failure.is_none() {
            state.outbox.push_back(event);
            wake(&mut state.sender);
        }
    }

    /// Says that nothing more will be sent, and waits for the answers to what was.
    pub(crate) async fn close_after_answers(&self) {
        {
            let mut state = self.state();
            state.is_closing = true;
            wake(&mut state.sender);
        }
        self.ended.cancelled().await;
    }

    /// Sends a request once there is a place for it.
    pub(crate) async fn ask(
        self: Arc<Self>,
        lane: Lane,
        mut request: CloudEvent,
    ) -> Result<Answer> {
        if let Some(token) = &lane.transaction {
            request.set_attribute(TRANSACTION, token);
        }
        request.check_size(self.message_bytes_max)?;
        let place = tokio::select! {
            biased;
            place = lane.places.acquire_owned() => place.map_err(|_| Error::closed())?,
            () = self.ended.cancelled() => return Err(self.lost().or_lost().unsent()),
        };
        let id = request.id.clone();
        let mut state = self.state();
        if let Some(failure) = &state.failure {
            return Err(failure.clone().or_lost().unsent());
        }
        state.answers.insert(
            id.clone(),
            Arriving {
                events: VecDeque::new(),
                unread_bytes: 0,
                is_sent: false,
                is_complete: false,
                is_left: false,
                failure: None,
                reader: None,
                place: Some(place),
            },
        );
        state.outbox.push_back(request);
        wake(&mut state.sender);
        drop(state);
        Ok(Answer { stream: self, id })
    }

    pub(crate) fn lost(&self) -> Error {
        self.failure()
            .unwrap_or_else(|| Error::lost("the stream has ended"))
    }

    /// Adds an event to the answer to which it belongs.
    fn take(&self, event: CloudEvent) {
        let mut state = self.state();
        let State {
            answers,
            unread_bytes,
            ..
        } = &mut *state;
        let id = event.attribute(REQUEST_ID).unwrap_or_default();
        let Some(answer) = answers.get_mut(id).filter(|answer| !answer.is_complete) else {
            return;
        };
        let is_last = !event.attributes.contains_key(SEQUENCE);
        if is_last {
            answer.is_complete = true;
            answer.place = None;
        }
        if answer.is_left {
            // A failure that is not read yet is kept for the reader.
            if is_last && answer.failure.is_none() {
                answers.remove(id);
            }
            return;
        }
        let size = event.size();
        answer.unread_bytes += size;
        *unread_bytes += size;
        wake(&mut answer.reader);
        answer.events.push_back(event);
    }

    /// Returns once the program has read enough of the answers.
    async fn wait_for_readers(&self) {
        loop {
            let read = self.read.notified();
            if self.state().unread_bytes <= UNREAD_BYTES_MAX {
                return;
            }
            tokio::select! {
                waited = timeout(STALL_TIMEOUT, read) => if waited.is_err() {
                    self.drop_largest();
                },
                () = self.cancel.cancelled() => return,
            }
        }
    }

    fn drop_largest(&self) {
        let mut state = self.state();
        let largest = state
            .answers
            .iter()
            .max_by_key(|(_, answer)| answer.unread_bytes)
            .map(|(id, _)| id.clone());
        let Some(id) = largest else {
            return;
        };
        let waited = format!("it was not read for {} s", STALL_TIMEOUT.as_secs());
        if let Some(answer) = state.answers.get_mut(&id) {
            answer.failure = Some(Error::new(Code::AnswerNotRead, waited));
            wake(&mut answer.reader);
        }
        state.leave(&id);
    }
}

impl State {
    /// Drops what is unread, and cancels the request on the server if it is not answered. It is
    /// still answered then, and has its place until that.
    fn leave(&mut self, id: &str) {
        let Some(answer) = self.answers.get_mut(id) else {
            return;
        };
        answer.is_left = true;
        answer.events.clear();
        self.unread_bytes -= answer.unread_bytes;
        answer.unread_bytes = 0;
        if answer.is_complete || self.failure.is_some() {
            return;
        }
        let cancel = json!({"requestId": id}).into();
        if let Ok(event) = CloudEvent::of(kind::CANCEL, &cancel) {
            self.outbox.push_back(event);
            wake(&mut self.sender);
        }
    }
}

fn wake(waker: &mut Option<Waker>) {
    if let Some(waker) = waker.take() {
        waker.wake();
    }
}

/// The events that answer one request. Dropping it cancels the request.
pub(crate) struct Answer {
    stream: Arc<Stream>,
    id: String,
}

impl FuturesStream for Answer {
    type Item = Result<CloudEvent>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut state = self.stream.state();
        let State {
            answers,
            unread_bytes,
            ..
        } = &mut *state;
        let Some(answer) = answers.get_mut(&self.id) else {
            return Poll::Ready(None);
        };
        if let Some(event) = answer.events.pop_front() {
            let size = event.size();
            answer.unread_bytes -= size;
            *unread_bytes -= size;
            drop(state);
            self.stream.read.notify_one();
            return Poll::Ready(Some(Ok(event)));
        }
        if let Some(failure) = answer.failure.take() {
            answer.is_complete |= answer.place.is_none();
            return Poll::Ready(Some(Err(failure)));
        }
        if answer.is_complete || answer.is_left {
            return Poll::Ready(None);
        }
        answer.reader = Some(context.waker().clone());
        Poll::Pending
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        let mut state = self.stream.state();
        let has_ended = state.failure.is_some();
        if let Some(answer) = state.answers.get_mut(&self.id) {
            answer.failure = None;
            if !std::mem::replace(&mut answer.is_left, true) {
                state.leave(&self.id);
            }
        }
        let is_over = |answer: &Arriving| answer.is_complete || has_ended;
        if state.answers.get(&self.id).is_some_and(is_over) {
            state.answers.remove(&self.id);
        }
        drop(state);
        self.stream.read.notify_one();
    }
}

/// What the gRPC call of a stream sends.
pub(crate) struct Outbox(pub(crate) Arc<Stream>);

impl FuturesStream for Outbox {
    type Item = CloudEvent;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<CloudEvent>> {
        let mut state = self.0.state();
        if let Some(event) = state.outbox.pop_front() {
            if let Some(answer) = state.answers.get_mut(&event.id) {
                answer.is_sent = true;
            }
            return Poll::Ready(Some(event));
        }
        if state.is_closing || state.failure.is_some() {
            return Poll::Ready(None);
        }
        state.sender = Some(context.waker().clone());
        Poll::Pending
    }
}
