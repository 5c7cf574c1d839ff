//! Messages of the service as bytes.
//!
//! tonic ends a stream on a message it cannot decode; a bad request must not (`stream.md` §2). So
//! the service is generated over bytes, and [`Event::decode`] answers for what is in them.

use bytes::{Buf as _, BufMut as _, Bytes};
use tonic::{
    Status,
    codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder},
};

use super::{Event, Rejected};

/// One message, encoded.
#[derive(Debug, Clone, Default)]
pub struct Frame(pub Bytes);

impl Frame {
    pub fn event(self) -> Result<Event, Rejected> {
        Event::decode(self.0)
    }
}

impl From<Event> for Frame {
    fn from(event: Event) -> Self {
        Self(event.encode())
    }
}

/// Passes frames through.
#[derive(Debug, Clone, Copy, Default)]
pub struct FrameCodec;

impl Codec for FrameCodec {
    type Encode = Frame;
    type Decode = Frame;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        *self
    }

    fn decoder(&mut self) -> Self {
        *self
    }
}

impl Encoder for FrameCodec {
    type Item = Frame;
    type Error = Status;

    fn encode(&mut self, frame: Frame, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        buffer.put(frame.0);
        Ok(())
    }
}

impl Decoder for FrameCodec {
    type Item = Frame;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<Frame>, Status> {
        Ok(Some(Frame(buffer.copy_to_bytes(buffer.remaining()))))
    }
}
