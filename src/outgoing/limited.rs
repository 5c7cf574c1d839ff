//! A connection to a server that may send only so much before the head of its answer.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::Connection;

/// The most bytes that a server may send before the head of its answer, the head included. The
/// library skips interim answers (`100 Continue`), however many there are.
pub(super) const HEAD_BYTES_MAX: usize = 256 << 10;

/// How many bytes the server may still send.
#[derive(Debug, Clone)]
pub(super) struct Left(Arc<AtomicUsize>);

impl Left {
    pub(super) fn new() -> Self {
        Self(Arc::new(AtomicUsize::new(HEAD_BYTES_MAX)))
    }

    /// The head of an answer is awaited.
    pub(super) fn await_head(&self) {
        self.0.store(HEAD_BYTES_MAX, Ordering::Relaxed);
    }

    /// The head of the answer is there. Its body has a limit of its own.
    pub(super) fn lift(&self) {
        self.0.store(usize::MAX, Ordering::Relaxed);
    }

    pub(super) fn is_used_up(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }

    /// Whether so many bytes more were allowed.
    fn take(&self, bytes: usize) -> bool {
        let left = self.0.load(Ordering::Relaxed);
        self.0.store(left.saturating_sub(bytes), Ordering::Relaxed);
        bytes <= left
    }
}

#[derive(Debug)]
pub(super) struct Limited {
    connection: Connection,
    left: Left,
}

impl Limited {
    pub(super) const fn new(connection: Connection, left: Left) -> Self {
        Self { connection, left }
    }
}

impl AsyncRead for Limited {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        ready!(Pin::new(&mut self.connection).poll_read(context, into))?;
        let read = into.filled().len() - before;
        if !self.left.take(read) {
            return Poll::Ready(Err(io::Error::other("the server sends too much")));
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Limited {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.connection).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.connection).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.connection.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.connection).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.connection).poll_shutdown(context)
    }
}
