//! A connection to a mail server that may send no more than it needs for one message.

use std::{
    io,
    net::SocketAddr,
    pin::Pin,
    task::{Context, Poll, ready},
};

use lettre::transport::smtp::client::AsyncTokioStream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::outgoing::Connection;

/// The most bytes that a mail server may send for one message. The library reads a line to its
/// end, however long it is.
const BYTES_MAX: usize = 64 << 10;

#[derive(Debug)]
pub(super) struct Limited {
    connection: Connection,
    peer: SocketAddr,
    left: usize,
}

impl Limited {
    pub(super) const fn new(connection: Connection, peer: SocketAddr) -> Self {
        Self {
            connection,
            peer,
            left: BYTES_MAX,
        }
    }
}

impl AsyncTokioStream for Limited {
    fn peer_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.peer)
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
        let Some(left) = self.left.checked_sub(read) else {
            let message = format!("the mail server sends more than {BYTES_MAX} bytes");
            return Poll::Ready(Err(io::Error::other(message)));
        };
        self.left = left;
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

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.connection).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.connection).poll_shutdown(context)
    }
}
