//! The body of a request, and its minimum rate.
//!
//! Only the time in which the server waits for bytes counts. A body may keep it waiting for as long
//! as the setting says, plus the time earned by what it has sent at the minimum rate; the earned
//! time is at most the setting, so that a client cannot send fast and then stay silent.

use std::{
    future::Future as _,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use futures_util::{FutureExt as _, future::BoxFuture};

use http_body::{Body, Frame, SizeHint};
use hyper::body::{Bytes, Incoming};
use tokio::time::{Instant, Sleep, sleep_until};

use super::Times;
use crate::error::Failure;
use crate::operation::Hold;
use crate::shares::SMALL_BYTES;
use crate::telemetry::measure::Closed;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The unit to which the time limit applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::app) enum Within {
    /// The whole body.
    Body,
    /// Each gRPC message, once it has begun; between messages any time may pass.
    Message,
}

/// The body of a request.
pub(in crate::app) struct Received {
    body: Incoming,
    times: Times,
    /// The error of a body that is too slow.
    too_slow: fn(&Times) -> BoxError,
    messages: Option<Messages>,
    /// The time that may still be spent waiting.
    spare: Duration,
    waiting: Option<(Instant, Pin<Box<Sleep>>)>,
    counted: Option<Counted>,
    /// The messages of one that may be compressed, and the maximum size of a message in bytes.
    inflating: Option<(Messages, usize)>,
    /// The maximum size of the first message in bytes, and the error of a larger one.
    first: Option<(usize, fn() -> BoxError)>,
}

type HeldUp = (Frame<Bytes>, BoxFuture<'static, Result<(), Failure>>);

/// Counts bytes in the budget of their tenant.
struct Counted {
    hold: Arc<Hold>,
    /// The error if the budget is used up.
    no_room: fn(&Failure) -> BoxError,
    bytes: usize,
    /// A piece for which there is no room, and what waits for room.
    held_up: Option<HeldUp>,
}

impl Received {
    pub(in crate::app) fn new(
        body: Incoming,
        times: Times,
        within: Within,
        too_slow: fn(&Times) -> BoxError,
    ) -> Self {
        Self {
            body,
            times,
            too_slow,
            messages: (within == Within::Message).then(Messages::default),
            spare: times.body,
            waiting: None,
            counted: None,
            inflating: None,
            first: None,
        }
    }

    /// Counts a compressed message as if it had its largest possible size, until it is known. Before
    /// the body ends, nobody else counts it.
    pub(in crate::app) fn inflates(mut self, message_max: usize) -> Self {
        self.inflating = Some((Messages::default(), message_max));
        self
    }

    /// Limits the first message of a stream whose sender is not known before it.
    pub(in crate::app) fn begins_within(
        mut self,
        bytes: Option<usize>,
        too_large: fn() -> BoxError,
    ) -> Self {
        self.first = bytes.map(|bytes| (bytes, too_large));
        self
    }

    /// Counts the bytes of the whole body, or of the incomplete message of a stream.
    pub(in crate::app) fn counted(
        mut self,
        hold: Option<Arc<Hold>>,
        no_room: fn(&Failure) -> BoxError,
    ) -> Self {
        self.counted = hold.map(|hold| Counted {
            hold,
            no_room,
            bytes: 0,
            held_up: None,
        });
        self
    }

    /// Bytes have arrived.
    fn came(&mut self, data: &Bytes) {
        if let Some((since, _)) = self.waiting.take() {
            self.spare = self.spare.saturating_sub(since.elapsed());
        }
        if let Some(messages) = &mut self.messages {
            messages.pass(data);
            if !messages.is_within() {
                self.spare = self.times.body;
                return;
            }
        }
        let earned = match self.times.bytes_per_second {
            0 => self.times.body,
            rate => Duration::from_secs(data.len() as u64) / rate,
        };
        self.spare = (self.spare + earned).min(self.times.body);
    }

    fn wait(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if self
            .messages
            .as_ref()
            .is_some_and(|messages| !messages.is_within())
        {
            return Poll::Pending;
        }
        let spare = self.spare;
        let (_, timer) = self.waiting.get_or_insert_with(|| {
            let now = Instant::now();
            (now, Box::pin(sleep_until(now + spare)))
        });
        if timer.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        Closed::count(Closed::SlowBody);
        Poll::Ready(Some(Err((self.too_slow)(&self.times))))
    }
}

impl Counted {
    /// Lets a piece wait for room.
    fn hold_up(&mut self, frame: Frame<Bytes>) {
        let (hold, bytes) = (Arc::clone(&self.hold), self.bytes);
        let room = async move { hold.hold(bytes).await };
        self.held_up = Some((frame, room.boxed()));
    }

    fn poll_held_up(
        &mut self,
        cx: &mut Context<'_>,
        is_stream: bool,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let Some((_, room)) = &mut self.held_up else {
            return Poll::Pending;
        };
        let outcome = ready!(room.as_mut().poll(cx));
        let frame = self.held_up.take().map(|(frame, _)| frame);
        match outcome {
            // A stream continues: its request is rejected, and responses of members still arrive.
            Err(failure) if !is_stream => Poll::Ready(Some(Err((self.no_room)(&failure)))),
            _ => Poll::Ready(frame.map(Ok)),
        }
    }
}

impl Body for Received {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = self.get_mut();
        if let Some(counted) = &mut this.counted
            && counted.held_up.is_some()
        {
            return counted.poll_held_up(cx, this.messages.is_some());
        }
        match Pin::new(&mut this.body).poll_frame(cx) {
            Poll::Ready(Some(Ok(frame))) => {
                let Some(data) = frame.data_ref() else {
                    return Poll::Ready(Some(Ok(frame)));
                };
                this.came(data);
                if let (Some((limit, too_large)), Some(messages)) = (this.first, &this.messages)
                    && messages.first.is_some_and(|length| length > limit)
                {
                    return Poll::Ready(Some(Err(too_large())));
                }
                let Some(counted) = &mut this.counted else {
                    return Poll::Ready(Some(Ok(frame)));
                };
                counted.bytes = match (&this.messages, &mut this.inflating) {
                    (Some(messages), _) => messages.incomplete(),
                    (None, None) => counted.bytes + data.len(),
                    (None, Some((messages, max))) => {
                        let before = messages.inflated.min(*max);
                        messages.pass(data);
                        counted.bytes + data.len() + messages.inflated.min(*max) - before
                    }
                };
                if counted.hold.holds_now(counted.bytes) {
                    return Poll::Ready(Some(Ok(frame)));
                }
                counted.hold_up(frame);
                counted.poll_held_up(cx, this.messages.is_some())
            }
            Poll::Ready(Some(Err(error))) => Poll::Ready(Some(Err(error.into()))),
            Poll::Ready(None) => Poll::Ready(None),
            Poll::Pending => this.wait(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The boundaries of gRPC messages: a byte of flags, four of length, and that many bytes.
#[derive(Debug, Default)]
struct Messages {
    head: [u8; HEAD],
    head_bytes: usize,
    /// The length of the message whose head is complete.
    length: usize,
    missing: usize,
    /// The length of the first message.
    first: Option<usize>,
    /// How many bytes the compressed messages have at most.
    inflated: usize,
}

/// The highest ratio that the method of gzip reaches.
const INFLATION_MAX: usize = 1_032;

const HEAD: usize = 5;

impl Messages {
    /// The received bytes of a large incomplete message; a small one is counted when it is complete.
    const fn incomplete(&self) -> usize {
        if self.missing == 0 || self.length <= SMALL_BYTES {
            0
        } else {
            self.length - self.missing
        }
    }

    /// Whether a message is incomplete.
    const fn is_within(&self) -> bool {
        self.missing > 0 || self.head_bytes > 0
    }

    fn pass(&mut self, mut data: &[u8]) {
        while !data.is_empty() {
            if self.missing > 0 {
                let bytes = self.missing.min(data.len());
                self.missing -= bytes;
                data = &data[bytes..];
                continue;
            }
            let bytes = (HEAD - self.head_bytes).min(data.len());
            self.head[self.head_bytes..self.head_bytes + bytes].copy_from_slice(&data[..bytes]);
            self.head_bytes += bytes;
            data = &data[bytes..];
            if self.head_bytes == HEAD {
                let [flags, length @ ..] = self.head;
                self.length = u32::from_be_bytes(length) as usize;
                self.missing = self.length;
                self.first.get_or_insert(self.length);
                if flags != 0 {
                    let most = self.length.saturating_mul(INFLATION_MAX);
                    self.inflated = self.inflated.saturating_add(most);
                }
                self.head_bytes = 0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_begin_and_end_however_they_are_cut() {
        let mut bytes = Vec::new();
        for length in [0, 1, 7, 300] {
            bytes.push(0);
            bytes.extend(u32::to_be_bytes(length));
            bytes.resize(bytes.len() + length as usize, b'x');
        }
        for size in 1..=bytes.len() {
            let mut messages = Messages::default();
            for piece in bytes.chunks(size) {
                messages.pass(piece);
            }
            assert!(!messages.is_within(), "pieces of {size}");
            messages.pass(&bytes[5..10]);
            assert!(messages.is_within());
        }
    }
}
