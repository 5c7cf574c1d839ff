//! Answers that are read ahead of the program, with bounded memory.
//!
//! A server resets the call of an answer that is not read for 30 s, and counts what is unread. So a
//! program that takes its time for each entity of a search has it read for it.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, ready},
};

use futures_util::{Stream, StreamExt as _};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc};
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};

use crate::{Result, generated::cloudevents::CloudEvent};

/// How many bytes of all answers of a connection may be unread before the server has to wait.
const UNREAD_BYTES_MAX: usize = 64 << 20;

/// The answers of one connection that are read ahead.
pub(crate) struct Ahead {
    room: Arc<Semaphore>,
    bytes_max: usize,
    /// What reads them.
    reading: TaskTracker,
}

impl Default for Ahead {
    fn default() -> Self {
        Self::new(UNREAD_BYTES_MAX)
    }
}

/// What has come, and its place among what is unread: none for the only event of an answer.
type Arrived = (Result<CloudEvent>, Option<OwnedSemaphorePermit>);

/// How much of an answer is there, and that some of it was read.
#[derive(Default)]
struct Unread {
    events: AtomicUsize,
    was_read: Notify,
}

/// The events of an answer, some of which have come before.
pub(crate) struct ReadAhead {
    arrived: mpsc::UnboundedReceiver<Arrived>,
    unread: Arc<Unread>,
    _reading: DropGuard,
}

impl Ahead {
    fn new(bytes_max: usize) -> Self {
        Self {
            room: Arc::new(Semaphore::new(bytes_max)),
            bytes_max,
            reading: TaskTracker::new(),
        }
    }

    /// Reads an answer.
    pub(crate) fn read(
        &self,
        mut source: impl Stream<Item = Result<CloudEvent>> + Unpin + Send + 'static,
    ) -> ReadAhead {
        let (put, arrived) = mpsc::unbounded_channel();
        let unread = Arc::new(Unread::default());
        let left = CancellationToken::new();
        let (room, bytes_max) = (Arc::clone(&self.room), self.bytes_max);
        let (counted, is_left) = (Arc::clone(&unread), left.clone());
        self.reading
            .spawn(is_left.run_until_cancelled_owned(async move {
                while let Some(event) = source.next().await {
                    let bytes = event.as_ref().map_or(0, CloudEvent::size).min(bytes_max);
                    let place = place(&room, &counted, bytes).await;
                    counted.events.fetch_add(1, Ordering::SeqCst);
                    if put.send((event, place)).is_err() {
                        return;
                    }
                }
            }));
        ReadAhead {
            arrived,
            unread,
            _reading: left.drop_guard(),
        }
    }

    /// Waits until every answer has ended.
    pub(crate) async fn ended(&self) {
        self.reading.close();
        self.reading.wait().await;
    }
}

/// A place for so many bytes. An answer of which nothing is unread does not wait for one: the loop
/// over another answer may be waiting for it.
async fn place(
    room: &Arc<Semaphore>,
    unread: &Unread,
    bytes: usize,
) -> Option<OwnedSemaphorePermit> {
    let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
    let place = Arc::clone(room).acquire_many_owned(bytes);
    let is_read = async {
        loop {
            let read = unread.was_read.notified();
            if unread.events.load(Ordering::SeqCst) == 0 {
                return;
            }
            read.await;
        }
    };
    tokio::select! {
        biased;
        place = place => place.ok(),
        () = is_read => None,
    }
}

impl Stream for ReadAhead {
    type Item = Result<CloudEvent>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let arrived = ready!(self.arrived.poll_recv(context));
        if arrived.is_some() {
            self.unread.events.fetch_sub(1, Ordering::SeqCst);
            self.unread.was_read.notify_one();
        }
        Poll::Ready(arrived.map(|(event, _)| event))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::{FutureExt as _, stream};
    use tokio::time::timeout;

    use super::*;
    use crate::generated::cloudevents::cloud_event::Data;

    const PATIENCE: Duration = Duration::from_secs(10);

    fn events(
        count: usize,
        bytes: usize,
        taken: &Arc<AtomicUsize>,
    ) -> impl Stream<Item = Result<CloudEvent>> + Unpin + Send + 'static {
        let taken = Arc::clone(taken);
        stream::iter(0..count).map(move |_| {
            taken.fetch_add(1, Ordering::SeqCst);
            Ok(CloudEvent {
                data: Some(Data::TextData("x".repeat(bytes))),
                ..CloudEvent::default()
            })
        })
    }

    #[tokio::test]
    async fn answers_are_read_ahead_within_a_bound() {
        let (ahead, taken) = (Ahead::new(100), Arc::new(AtomicUsize::new(0)));
        let mut answer = ahead.read(events(10, 40, &taken));
        answer.next().await.expect("an event").expect("is there");
        // Two more fit, and one waits for its place.
        while taken.load(Ordering::SeqCst) < 4 {
            tokio::task::yield_now().await;
        }
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        assert_eq!(taken.load(Ordering::SeqCst), 4);
        // Another answer may have one nevertheless.
        let mut other = ahead.read(events(1, 200, &taken));
        let next = timeout(PATIENCE, other.next()).await;
        next.expect("in time").expect("an event").expect("is there");
        assert_eq!(timeout(PATIENCE, answer.count()).await, Ok(9));
        assert!(other.next().await.is_none());
        timeout(PATIENCE, ahead.ended())
            .await
            .expect("all have ended");
        assert_eq!(ahead.room.available_permits(), 100);
    }

    #[tokio::test]
    async fn what_is_read_ahead_ends_with_its_reader() {
        let (ahead, taken) = (Ahead::new(100), Arc::new(AtomicUsize::new(0)));
        let answer = ahead.read(events(10, 60, &taken));
        while taken.load(Ordering::SeqCst) < 2 {
            tokio::task::yield_now().await;
        }
        assert!(ahead.ended().now_or_never().is_none());
        drop(answer);
        timeout(PATIENCE, ahead.ended())
            .await
            .expect("it has ended");
        assert_eq!(ahead.room.available_permits(), 100);
    }
}
