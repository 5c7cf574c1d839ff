//! The body of an answer, and how long it may stay unread on HTTP/2.
//!
//! If a stream is not read, its window is full while its connection works and answers pings, so the
//! socket cannot detect it. hyper polls a body for more only when the window has room: if a piece
//! was given and no further one was requested, the client is not reading.

use std::{
    cell::Cell,
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use http_body::{Body, Frame, SizeHint};
use hyper::{body::Bytes, rt::Executor};
use pin_project_lite::pin_project;
use tokio::time::{Sleep, sleep};

use super::activity::Open;
use crate::operation::Unread;
use crate::telemetry::measure::Closed;

/// The maximum size of a piece: what must be read before the time limit starts again.
const PIECE_MAX: usize = 64 << 10;

/// No piece; the first is 1.
const NONE: u64 = 0;

thread_local! {
    /// The number of the piece that the body of the currently polled stream has given, while the
    /// next was not requested.
    static UNREAD: Cell<u64> = const { Cell::new(NONE) };
}

/// The body of an answer. Its request is open until the body has ended.
pub(super) struct Answer<B> {
    body: B,
    /// The rest of a piece that was too large.
    rest: Bytes,
    pieces: u64,
    _open: Open,
    /// What it counts while it is not read.
    _unread: Unread,
}

impl<B> Answer<B> {
    pub(super) const fn new(body: B, open: Open, unread: Unread) -> Self {
        Self {
            body,
            rest: Bytes::new(),
            pieces: NONE,
            _open: open,
            _unread: unread,
        }
    }

    fn give<E>(&mut self, mut data: Bytes) -> Poll<Option<Result<Frame<Bytes>, E>>> {
        if data.len() > PIECE_MAX {
            self.rest = data.split_off(PIECE_MAX);
        }
        self.pieces += 1;
        UNREAD.set(self.pieces);
        Poll::Ready(Some(Ok(Frame::data(data))))
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for Answer<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let this = self.get_mut();
        UNREAD.set(NONE);
        if !this.rest.is_empty() {
            let rest = std::mem::take(&mut this.rest);
            return this.give(rest);
        }
        match Pin::new(&mut this.body).poll_frame(cx) {
            Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                Ok(data) => this.give(data),
                Err(trailers) => Poll::Ready(Some(Ok(trailers))),
            },
            other @ (Poll::Ready(Some(Err(_)) | None) | Poll::Pending) => other,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let mut hint = self.body.size_hint();
        let rest = self.rest.len() as u64;
        if rest > 0 {
            if let Some(upper) = hint.upper() {
                hint.set_upper(upper + rest);
            }
            hint.set_lower(hint.lower() + rest);
        }
        hint
    }
}

/// Runs the streams of a connection; one whose answer stays unread is reset, the others continue.
#[derive(Debug, Clone, Copy)]
pub(super) struct Streams {
    pub(super) stall: Duration,
}

impl<F> Executor<F> for Streams
where
    F: Future + Send + 'static,
    F::Output: Send,
{
    fn execute(&self, work: F) {
        tokio::spawn(UnlessUnread {
            work,
            stall: self.stall,
            unread: NONE,
            timer: None,
        });
    }
}

pin_project! {
    /// The work of one stream, unless a piece of its answer stays unread for too long.
    ///
    /// Written out, because an `async fn` would have the work, which is large, twice.
    struct UnlessUnread<F> {
        #[pin]
        work: F,
        stall: Duration,
        unread: u64,
        timer: Option<Pin<Box<Sleep>>>,
    }
}

impl<F: Future> Future for UnlessUnread<F> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.project();
        let outer = UNREAD.replace(*this.unread);
        let polled = this.work.poll(cx);
        let now_unread = UNREAD.replace(outer);
        if polled.is_ready() {
            return Poll::Ready(());
        }
        if now_unread != *this.unread {
            *this.unread = now_unread;
            *this.timer = None;
        }
        if *this.unread == NONE {
            return Poll::Pending;
        }
        let stall = *this.stall;
        let timer = this.timer.get_or_insert_with(|| Box::pin(sleep(stall)));
        ready!(timer.as_mut().poll(cx));
        // Dropping the work resets the stream.
        Closed::count(Closed::Unread);
        Poll::Ready(())
    }
}
