//! The outbound queue of a stream, bounded in events and bytes.

use std::{
    collections::VecDeque,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker},
    time::Duration,
};

use futures_util::Stream;
use parking_lot::{Mutex, MutexGuard};
use tokio::{
    sync::Notify,
    time::{Instant, timeout_at},
};
use tonic::Status;
use tracing::info;

use crate::event::{Event, frame::Frame};

/// How many events may be queued before answers wait.
const EVENTS: usize = 256;

/// How many bytes may be queued before answers wait.
const BYTES: usize = 8 << 20;

/// How many events may be queued before the client is not read any more: acknowledgements cannot
/// wait, and each answers a message of the client.
const EVENTS_MAX: usize = 8 * EVENTS;

/// How many bytes may be queued before the client is not read any more.
const BYTES_MAX: usize = 2 * BYTES;

/// The sending side. Cheap to clone.
///
/// A mutex, not a task: it is held to push or pop one event.
#[derive(Debug, Clone)]
pub(super) struct Queue(Arc<Shared>);

/// The side that tonic reads: the events of the stream, then its status.
#[derive(Debug)]
pub struct Outbound(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// Notified when there is room again, or when none is needed any more.
    room: Notify,
    /// Notified when the stream has ended.
    ended: Notify,
    patience: Duration,
}

#[derive(Debug)]
struct State {
    events: VecDeque<Frame>,
    bytes: usize,
    reader: Option<Waker>,
    /// When the client last took an event.
    last_taken: Instant,
    end: Option<End>,
}

#[derive(Debug)]
enum End {
    /// The stream ends after the queued events, with this status if it failed.
    Closed(Option<Status>),
    /// The stream ends at once.
    Failed(Status),
    /// Nobody reads any more.
    Over,
}

/// The stream has ended; unsent events are lost.
#[derive(Debug)]
pub(super) struct Ended;

pub(super) fn queue(patience: Duration) -> (Queue, Outbound) {
    let shared = Arc::new(Shared {
        state: Mutex::new(State {
            events: VecDeque::new(),
            bytes: 0,
            reader: None,
            last_taken: Instant::now(),
            end: None,
        }),
        room: Notify::new(),
        ended: Notify::new(),
        patience,
    });
    (Queue(Arc::clone(&shared)), Outbound(shared))
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    fn finish(&self, end: End) {
        let mut state = self.lock();
        if state.end.is_some() {
            return;
        }
        if !matches!(end, End::Closed(_)) {
            state.events.clear();
            state.bytes = 0;
        }
        state.end = Some(end);
        state.wake();
        drop(state);
        self.room.notify_waiters();
        self.ended.notify_waiters();
    }

    /// Ends the stream of a client that does not read.
    fn give_up(&self) {
        info!("a client that did not read its answers was disconnected");
        self.finish(End::Failed(Status::resource_exhausted(format!(
            "no answer was read for {:?} (INTERLOCK_STREAM_SEND_TIMEOUT); read while sending",
            self.patience
        ))));
    }
}

impl State {
    fn has_room(&self) -> bool {
        self.events.is_empty() || self.events.len() < EVENTS && self.bytes < BYTES
    }

    fn is_full(&self) -> bool {
        !self.has_room() && (self.events.len() >= EVENTS_MAX || self.bytes >= BYTES_MAX)
    }

    fn add(&mut self, frame: Frame) {
        if self.events.is_empty() {
            self.last_taken = Instant::now();
        }
        self.bytes += frame.0.len();
        self.events.push_back(frame);
        self.wake();
    }

    fn wake(&mut self) {
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
    }
}

impl Queue {
    /// Queues an event without waiting. The caller reads no more of the client while the queue is
    /// full, so few events exceed its bounds.
    pub(super) fn push(&self, event: Event) {
        let mut state = self.0.lock();
        if state.end.is_none() {
            state.add(event.into());
        }
    }

    /// Whether so much is unread that the client must read before it is read from.
    pub(super) fn is_full(&self) -> bool {
        let state = self.0.lock();
        state.end.is_none() && state.is_full()
    }

    /// Queues an event once there is room.
    pub(super) async fn send(&self, event: Event) -> Result<(), Ended> {
        let frame = Frame::from(event);
        self.once_there_is_room(|state| state.add(frame)).await
    }

    /// Returns once an event could be sent, or the stream has ended.
    pub(super) async fn room(&self) {
        let _ = self.once_there_is_room(|_| {}).await;
    }

    /// Waits for room. A client that reads nothing for too long is disconnected (`stream.md` §2,
    /// slow reader).
    async fn once_there_is_room(&self, then: impl FnOnce(&mut State)) -> Result<(), Ended> {
        loop {
            let room = self.0.room.notified();
            tokio::pin!(room);
            room.as_mut().enable();
            let deadline = {
                let mut state = self.0.lock();
                if state.end.is_some() {
                    return Err(Ended);
                }
                if state.has_room() {
                    then(&mut state);
                    return Ok(());
                }
                state.last_taken + self.0.patience
            };
            if Instant::now() >= deadline {
                self.0.give_up();
                return Err(Ended);
            }
            let _ = timeout_at(deadline, room).await;
        }
    }

    /// Returns once the client has taken every queued event, or the stream has ended.
    pub(super) async fn drained(&self) {
        loop {
            let room = self.0.room.notified();
            tokio::pin!(room);
            room.as_mut().enable();
            {
                let state = self.0.lock();
                if state.events.is_empty() || state.end.is_some() {
                    return;
                }
            }
            room.await;
        }
    }

    /// Ends the stream after the queued events.
    pub(super) fn close(&self, status: Option<Status>) {
        self.0.finish(End::Closed(status));
    }

    /// Ends the stream at once.
    pub(super) fn fail(&self, status: Status) {
        self.0.finish(End::Failed(status));
    }

    /// Returns when the stream has ended, for whatever reason.
    pub(super) async fn ended(&self) {
        loop {
            let ended = self.0.ended.notified();
            tokio::pin!(ended);
            ended.as_mut().enable();
            if self.0.lock().end.is_some() {
                return;
            }
            ended.await;
        }
    }
}

impl Stream for Outbound {
    type Item = Result<Frame, Status>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut state = self.0.lock();
        if let Some(End::Failed(status)) = &state.end {
            let status = status.clone();
            state.end = Some(End::Over);
            return Poll::Ready(Some(Err(status)));
        }
        if let Some(frame) = state.events.pop_front() {
            state.bytes -= frame.0.len();
            state.last_taken = Instant::now();
            let has_room = state.has_room();
            drop(state);
            if has_room {
                self.0.room.notify_waiters();
            }
            return Poll::Ready(Some(Ok(frame)));
        }
        match &mut state.end {
            Some(End::Closed(status)) => return Poll::Ready(status.take().map(Err)),
            Some(_) => return Poll::Ready(None),
            None => {}
        }
        state.reader = Some(cx.waker().clone());
        Poll::Pending
    }
}

impl Drop for Outbound {
    fn drop(&mut self) {
        self.0.finish(End::Over);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::StreamExt as _;

    use super::*;
    use crate::event::EventType;

    fn event(bytes: usize) -> Event {
        Event::ours(EventType::EventAckResponse, "x".repeat(bytes))
    }

    #[tokio::test(start_paused = true)]
    async fn a_reader_that_does_not_read_is_given_up() {
        let (queue, mut outbound) = queue(Duration::from_secs(30));
        for _ in 0..EVENTS {
            queue.send(event(10)).await.expect("room");
        }
        let begun = Instant::now();
        assert!(queue.send(event(10)).await.is_err());
        assert_eq!(begun.elapsed().as_secs(), 30);
        let status = outbound
            .next()
            .await
            .expect("a status")
            .expect_err("a failure");
        assert_eq!(status.code(), tonic::Code::ResourceExhausted);
        assert!(outbound.next().await.is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_reader_that_reads_slowly_is_waited_for() {
        let (queue, mut outbound) = queue(Duration::from_secs(30));
        let send = async {
            for _ in 0..3 * EVENTS {
                queue.send(event(10)).await.expect("room");
            }
            queue.close(None);
        };
        let read = async {
            let mut read = 0;
            while let Some(item) = outbound.next().await {
                item.expect("an event");
                read += 1;
                tokio::time::sleep(Duration::from_secs(20)).await;
            }
            read
        };
        let ((), read) = tokio::join!(send, read);
        assert_eq!(read, 3 * EVENTS);
    }

    #[tokio::test(start_paused = true)]
    async fn bytes_are_bounded_as_events_are() {
        let (queue, mut outbound) = queue(Duration::from_secs(30));
        queue
            .send(event(BYTES))
            .await
            .expect("one event may be large");
        let waiting = tokio::spawn({
            let queue = queue.clone();
            async move { queue.send(event(1)).await.is_ok() }
        });
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(!waiting.is_finished());
        outbound.next().await.expect("an event").expect("an event");
        assert!(waiting.await.expect("no panic"));
    }

    #[tokio::test]
    async fn what_is_queued_leaves_before_the_status_of_a_stream_that_is_closed() {
        let (queue, outbound) = queue(Duration::from_secs(30));
        queue.push(event(1));
        queue.close(Some(Status::unavailable("stopping")));
        queue.push(event(1));
        let items: Vec<_> = outbound.collect().await;
        assert_eq!(items.len(), 2);
        assert!(items[0].is_ok() && items[1].is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn acknowledgements_fill_the_queue_until_some_are_read() {
        let (queue, mut outbound) = queue(Duration::from_secs(30));
        for _ in 0..EVENTS_MAX {
            assert!(!queue.is_full());
            queue.push(event(1));
        }
        assert!(queue.is_full());
        let waiting = tokio::spawn({
            let queue = queue.clone();
            async move { queue.room().await }
        });
        // A client that reads is waited for, however slow it is.
        for _ in EVENTS..EVENTS_MAX {
            tokio::time::sleep(Duration::from_secs(20)).await;
            assert!(!waiting.is_finished());
            outbound.next().await.expect("an event").expect("an event");
        }
        assert!(!queue.is_full());
        outbound.next().await.expect("an event").expect("an event");
        waiting.await.expect("no panic");
        queue.push(event(1));
        assert!(outbound.next().await.expect("an event").is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn acknowledgements_that_nobody_reads_end_the_stream() {
        let (queue, mut outbound) = queue(Duration::from_secs(30));
        for _ in 0..3 {
            queue.push(event(BYTES));
        }
        assert!(queue.is_full());
        let begun = Instant::now();
        queue.room().await;
        assert_eq!(begun.elapsed().as_secs(), 30);
        let status = outbound.next().await.expect("a status");
        let status = status.expect_err("a failure");
        assert_eq!(status.code(), tonic::Code::ResourceExhausted);
    }
}
