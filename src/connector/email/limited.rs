//! A connection to a mail server that may send no more than it needs for one message.
//!
//! It is read line by line. The library keeps what it has read behind the answer to `STARTTLS`, and
//! takes it for an answer of the server that it has verified then; so it gets nothing behind it, and
//! what there is goes to TLS, which refuses it (RFC 3207 §4.2).

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

/// How many bytes are read at once.
const CHUNK: usize = 4 << 10;

#[derive(Debug)]
pub(super) struct Limited {
    connection: Connection,
    peer: SocketAddr,
    left: usize,
    /// What has been read and not given yet.
    kept: Vec<u8>,
}

impl Limited {
    pub(super) const fn new(connection: Connection, peer: SocketAddr) -> Self {
        Self {
            connection,
            peer,
            left: BYTES_MAX,
            kept: Vec::new(),
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
        let this = &mut *self;
        if this.kept.is_empty() {
            let mut chunk = [0; CHUNK];
            let mut chunk = ReadBuf::new(&mut chunk);
            ready!(Pin::new(&mut this.connection).poll_read(context, &mut chunk))?;
            let Some(left) = this.left.checked_sub(chunk.filled().len()) else {
                let message = format!("the mail server sends more than {BYTES_MAX} bytes");
                return Poll::Ready(Err(io::Error::other(message)));
            };
            this.left = left;
            this.kept.extend_from_slice(chunk.filled());
        }
        let end = this.kept.iter().position(|byte| *byte == b'\n');
        let line = end.map_or(this.kept.len(), |end| end + 1);
        let given = line.min(into.remaining());
        into.put_slice(&this.kept[..given]);
        this.kept.drain(..given);
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
