//! A stream between two nodes: the requests of both to each other, side by side.
//!
//! Everything on it is bounded in bytes: what waits to be sent, and of each request the answers that
//! were not read, so that one that is read slowly does not keep the others. What is large is sent in
//! parts, in turns with what is small. A peer that says nothing for a while is gone; then every
//! request on the stream has failed.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::{Bytes, BytesMut};
use futures_util::{StreamExt as _, stream::BoxStream};
use parking_lot::{Mutex, MutexGuard};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, mpsc},
    time::{MissedTickBehavior, interval, sleep, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::telemetry::nodes::node_streams;

use super::{
    Busy, Pipe,
    frame::{Frame, What},
    handshake::{Introduction, Met},
    seal::Seal,
    turns::Turns,
};

/// How many bytes of the answers to a request may be unread, or one answer that is longer.
const UNREAD_MAX: usize = 1 << 20;

/// After how many bytes the other node learns that they were read; it learns it anyway before a
/// request waits for its next answer.
const CREDIT_AT: usize = UNREAD_MAX / 4;

/// How many bytes may wait to be sent of what is large, and of what is small.
const BYTES_MAX: usize = 32 << 20;
const SMALL_BYTES_MAX: usize = 8 << 20;

/// What a message counts for at least.
const BYTES_LEAST: usize = 1 << 10;

/// How many requests of a peer are worked on at once.
const SERVED_MAX: usize = 16_384;

/// How often a node sends a heartbeat.
const PING: Duration = Duration::from_secs(3);

/// How long a peer may say nothing.
const SILENCE_MAX: Duration = Duration::from_secs(10);

/// How often a node that stops looks whether a stream is idle, and after how many such looks the
/// stream ends: a request that calls several members asks for one after the other.
const IDLE_LOOK: Duration = Duration::from_millis(50);
const IDLE_LOOKS: u32 = 4;

/// Answers the requests of peers. The stream of answers is dropped once nobody wants them.
pub(super) type Serve =
    Arc<dyn Fn(What, Bytes, CancellationToken) -> BoxStream<'static, Bytes> + Send + Sync>;

/// When a stream ends.
pub(super) struct Ends {
    pub(super) at_once: CancellationToken,
    /// From then on it ends when it is idle.
    pub(super) when_idle: CancellationToken,
    /// Whether the peer may have to ask something although it is idle.
    pub(super) is_busy: Busy,
}

/// A stream to a peer.
pub(super) struct Link {
    pub(super) peer: Introduction,
    out: mpsc::UnboundedSender<Outgoing>,
    room: Arc<Semaphore>,
    room_for_small: Arc<Semaphore>,
    /// A mutex, not a task: it is held for a look-up.
    asked: Mutex<HashMap<u64, mpsc::Sender<Item>>>,
    next: AtomicU64,
    /// The requests of the peer that are worked on. A mutex, not a task: it is held for a look-up.
    served: Mutex<HashMap<u64, Served>>,
    over: CancellationToken,
}

/// A frame on its way, with its part of the bytes that may wait.
struct Outgoing(Frame, Option<OwnedSemaphorePermit>);

#[derive(Debug)]
enum Item {
    One(Bytes),
    End,
}

/// The stream to the peer has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the other node has gone")]
pub struct Gone;

/// The answers to a request. Dropping them cancels it.
pub struct AnswerStream {
    link: Arc<Link>,
    number: u64,
    items: mpsc::Receiver<Item>,
    /// Bytes that were read, and that the other node does not know of.
    read: usize,
    is_over: bool,
}

impl std::fmt::Debug for AnswerStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "AnswerStream({})", self.number)
    }
}

impl std::fmt::Debug for Link {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Link({})", self.peer.name)
    }
}

impl AnswerStream {
    /// The next answer; none after the last.
    pub async fn next(&mut self) -> Result<Option<Bytes>, Gone> {
        if self.is_over {
            return Ok(None);
        }
        if self.items.is_empty() {
            // An answer may wait there that needs all of it.
            self.say_what_was_read();
        }
        match self.items.recv().await {
            Some(Item::One(item)) => {
                self.read += counts_for(&item);
                if self.read >= CREDIT_AT {
                    self.say_what_was_read();
                }
                Ok(Some(item))
            }
            Some(Item::End) => {
                self.is_over = true;
                Ok(None)
            }
            None => {
                self.is_over = true;
                Err(Gone)
            }
        }
    }

    fn say_what_was_read(&mut self) {
        let read = u32::try_from(std::mem::take(&mut self.read)).unwrap_or(u32::MAX);
        if read > 0 {
            self.link.say(Frame::Credit(self.number, read));
        }
    }
}

/// How many bytes of those that may be unread an answer takes. The longest takes all of them, so
/// that none is refused.
fn counts_for(item: &Bytes) -> usize {
    item.len().clamp(BYTES_LEAST, UNREAD_MAX)
}

impl Drop for AnswerStream {
    fn drop(&mut self) {
        let was_asked = self.link.lock().remove(&self.number).is_some();
        if was_asked {
            self.link.say(Frame::Cancel(self.number));
        }
    }
}

impl Link {
    /// Begins the stream; it is worked on under the tracker.
    pub(super) fn start(
        met: Met,
        pipe: Pipe,
        serve: Serve,
        tasks: &TaskTracker,
        ends: Ends,
    ) -> Arc<Self> {
        let (out, outgoing) = mpsc::unbounded_channel();
        let link = Arc::new(Self {
            peer: met.peer,
            out,
            room: Arc::new(Semaphore::new(BYTES_MAX)),
            room_for_small: Arc::new(Semaphore::new(SMALL_BYTES_MAX)),
            asked: Mutex::default(),
            next: AtomicU64::new(1),
            served: Mutex::default(),
            over: ends.at_once.child_token(),
        });
        tasks.spawn(Arc::clone(&link).end_when_idle(ends));
        let over = link.over.clone();
        let writing = write(outgoing, pipe.outgoing, met.seal);
        let ending = link.clone();
        tasks.spawn(async move {
            over.run_until_cancelled(writing).await;
            ending.end();
        });
        let reading = Arc::clone(&link).read(pipe.incoming, met.open, serve, tasks.clone());
        let (over, ending) = (link.over.clone(), Arc::clone(&link));
        node_streams(1.0);
        tasks.spawn(async move {
            over.run_until_cancelled(reading).await;
            ending.end();
            node_streams(-1.0);
        });
        link
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, mpsc::Sender<Item>>> {
        self.asked.lock()
    }

    fn served(&self) -> MutexGuard<'_, HashMap<u64, Served>> {
        self.served.lock()
    }

    pub(super) fn is_over(&self) -> bool {
        self.over.is_cancelled()
    }

    /// Returns once the stream has ended.
    pub(super) async fn ended(&self) {
        self.over.cancelled().await;
    }

    /// Ends the stream, and with it every request on it.
    pub(super) fn end(&self) {
        self.over.cancel();
        // Dropping the senders fails the requests.
        self.lock().clear();
    }

    /// Ends the stream after the node was asked to stop, once neither node has asked for anything for
    /// a while.
    async fn end_when_idle(self: Arc<Self>, ends: Ends) {
        tokio::select! {
            () = ends.when_idle.cancelled() => {}
            () = self.ended() => return,
        }
        let mut idle = 0;
        while idle < IDLE_LOOKS && !self.is_over() {
            sleep(IDLE_LOOK).await;
            let asks = !self.served().is_empty() || !self.lock().is_empty();
            let is_idle = !asks && !(ends.is_busy)();
            idle = if is_idle { idle + 1 } else { 0 };
        }
        self.end();
    }

    /// Sends a small frame at once.
    fn say(&self, frame: Frame) {
        // If nobody writes any more, the stream has ended.
        let _ = self.out.send(Outgoing(frame, None));
    }

    /// Sends a frame once there is room for its bytes.
    async fn send(&self, frame: Frame) -> Result<(), Gone> {
        let bytes = frame.len().clamp(BYTES_LEAST, BYTES_MAX);
        let room = if frame.is_large() {
            &self.room
        } else {
            &self.room_for_small
        };
        let room = Arc::clone(room);
        let taking = room.acquire_many_owned(u32::try_from(bytes).unwrap_or(u32::MAX));
        let permit = self.over.run_until_cancelled(taking).await;
        let permit = permit.ok_or(Gone)?.map_err(|_| Gone)?;
        self.out
            .send(Outgoing(frame, Some(permit)))
            .map_err(|_| Gone)
    }

    /// Asks the peer for something.
    pub(super) async fn ask(
        self: &Arc<Self>,
        what: What,
        body: Bytes,
    ) -> Result<AnswerStream, Gone> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        // One more for the end.
        let (items, answers) = mpsc::channel(UNREAD_MAX / BYTES_LEAST + 1);
        self.lock().insert(number, items);
        let answers = AnswerStream {
            link: Arc::clone(self),
            number,
            items: answers,
            read: 0,
            is_over: false,
        };
        if self.is_over() {
            return Err(Gone);
        }
        self.send(Frame::Ask(number, what, body)).await?;
        Ok(answers)
    }

    async fn read(
        self: Arc<Self>,
        mut incoming: BoxStream<'static, Result<Bytes, String>>,
        mut open: Seal,
        serve: Serve,
        tasks: TaskTracker,
    ) {
        // What is asked, and what is answered, of which more follows. The peer bounds what it sends.
        let (mut asking, mut answering) = (Parts::default(), Parts::default());
        while let Ok(Some(Ok(sealed))) = timeout(SILENCE_MAX, incoming.next()).await {
            let frame = open
                .open(&sealed)
                .and_then(|bytes| Frame::decode(bytes.into()));
            let Some(frame) = frame else {
                tracing::error!(peer = %self.peer.name, "a message of another node could not be opened, so the stream to it ends");
                return;
            };
            match frame {
                Frame::AskPart(number, part) => asking.add(number, &part),
                Frame::Ask(number, what, rest) => {
                    self.begin(number, what, asking.whole(number, rest), &serve, &tasks);
                }
                Frame::Cancel(number) => {
                    asking.forget(number);
                    let all = self.served();
                    if let Some(request) = all.get(&number) {
                        request.cancel.cancel();
                    }
                }
                Frame::Credit(number, bytes) => {
                    let all = self.served();
                    if let Some(request) = all.get(&number) {
                        let bytes = usize::try_from(bytes).unwrap_or(UNREAD_MAX);
                        request.credit.add_permits(bytes.min(UNREAD_MAX));
                    }
                }
                Frame::ItemPart(number, part) => {
                    // If nobody wants it any more, it is not kept.
                    if self.lock().contains_key(&number) {
                        answering.add(number, &part);
                    } else {
                        answering.forget(number);
                    }
                }
                Frame::Item(number, rest) => {
                    let item = answering.whole(number, rest);
                    let asked = self.lock().get(&number).cloned();
                    // A peer that sends more than was read is not one of ours.
                    if let Some(Err(mpsc::error::TrySendError::Full(_))) =
                        asked.map(|asked| asked.try_send(Item::One(item)))
                    {
                        return;
                    }
                }
                Frame::End(number) => {
                    if let Some(asked) = self.lock().remove(&number) {
                        let _ = asked.try_send(Item::End);
                    }
                }
                Frame::Ping => {}
            }
        }
    }

    /// Begins to work on a request of the peer.
    fn begin(
        self: &Arc<Self>,
        number: u64,
        what: What,
        body: Bytes,
        serve: &Serve,
        tasks: &TaskTracker,
    ) {
        let request = Served {
            cancel: self.over.child_token(),
            credit: Arc::new(Semaphore::new(UNREAD_MAX)),
        };
        let mut all = self.served();
        if all.len() >= SERVED_MAX {
            self.say(Frame::End(number));
            return;
        }
        all.insert(number, request.clone());
        drop(all);
        let answers = serve(what, body, request.cancel.clone());
        let link = Arc::clone(self);
        tasks.spawn(async move {
            let answering = link.answer(number, answers, &request);
            request.cancel.run_until_cancelled(answering).await;
            request.cancel.cancel();
            link.served().remove(&number);
        });
    }

    async fn answer(&self, number: u64, mut answers: BoxStream<'static, Bytes>, to: &Served) {
        while let Some(item) = answers.next().await {
            let bytes = u32::try_from(counts_for(&item)).unwrap_or(u32::MAX);
            let Ok(credit) = to.credit.acquire_many(bytes).await else {
                return;
            };
            credit.forget();
            if self.send(Frame::Item(number, item)).await.is_err() {
                return;
            }
        }
        self.say(Frame::End(number));
    }
}

/// A request of the peer that is worked on.
#[derive(Clone)]
struct Served {
    cancel: CancellationToken,
    /// How many more bytes of answers may be sent.
    credit: Arc<Semaphore>,
}

/// Bodies of which only parts have arrived, by the number of their request.
#[derive(Default)]
struct Parts(HashMap<u64, BytesMut>);

impl Parts {
    fn add(&mut self, number: u64, part: &[u8]) {
        self.0.entry(number).or_default().extend_from_slice(part);
    }

    /// The body, with its rest.
    fn whole(&mut self, number: u64, rest: Bytes) -> Bytes {
        let Some(mut body) = self.0.remove(&number) else {
            return rest;
        };
        body.extend_from_slice(&rest);
        body.freeze()
    }

    fn forget(&mut self, number: u64) {
        self.0.remove(&number);
    }
}

/// Seals what is to be sent, and says now and then that this node is there.
async fn write(
    mut frames: mpsc::UnboundedReceiver<Outgoing>,
    to: mpsc::Sender<Result<Bytes, String>>,
    mut seal: Seal,
) {
    let mut pings = interval(PING);
    pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut turns = Turns::new();
    loop {
        while let Ok(Outgoing(frame, permit)) = frames.try_recv() {
            turns.add(frame, permit);
        }
        let Some((frame, permit)) = turns.next() else {
            let Outgoing(frame, permit) = tokio::select! {
                frame = frames.recv() => match frame {
                    Some(frame) => frame,
                    None => return,
                },
                _ = pings.tick() => Outgoing(Frame::Ping, None),
            };
            turns.add(frame, permit);
            continue;
        };
        let Some(sealed) = seal.seal(&frame.encode()) else {
            return;
        };
        if to.send(Ok(sealed.into())).await.is_err() {
            return;
        }
        drop(permit);
    }
}
