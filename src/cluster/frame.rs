//! What is sealed: frames, which begin, continue and end the requests of two nodes to each other.

use bytes::{Buf as _, Bytes};

/// How many bytes of a body are sent at once: a longer one is sent in parts.
pub(super) const PART: usize = 64 << 10;

/// To what the order of frames matters: a request, of either node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Request {
    /// This node asks.
    Own(u64),
    /// This node answers.
    Theirs(u64),
    /// None.
    None,
}

/// The kind of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    /// A call to a compute member.
    Call,
    /// An event, carried to the node of its transaction.
    Event,
    /// A request of REST, carried likewise.
    Http,
}

/// One message of a stream. The number is that of a request, counted by the node that asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Frame {
    Ask(u64, What, Bytes),
    /// The asking node does not want the rest.
    Cancel(u64),
    /// The asking node has read answers that count for this many bytes.
    Credit(u64, u32),
    /// One answer.
    Item(u64, Bytes),
    /// A part of what is asked, of which more follows.
    AskPart(u64, Bytes),
    /// A part of an answer, of which more follows.
    ItemPart(u64, Bytes),
    /// There are no more answers.
    End(u64),
    /// The node is there.
    Ping,
}

impl Frame {
    pub(super) fn encode(&self) -> Vec<u8> {
        let (kind, number, rest): (u8, u64, &[u8]) = match self {
            Self::Ask(number, What::Call, body) => (0, *number, body),
            Self::Ask(number, What::Event, body) => (1, *number, body),
            Self::Ask(number, What::Http, body) => (2, *number, body),
            Self::Cancel(number) => (3, *number, &[]),
            Self::Credit(number, count) => (4, *number, &count.to_be_bytes()),
            Self::Item(number, body) => (5, *number, body),
            Self::End(number) => (6, *number, &[]),
            Self::Ping => (7, 0, &[]),
            Self::AskPart(number, body) => (8, *number, body),
            Self::ItemPart(number, body) => (9, *number, body),
        };
        let mut bytes = Vec::with_capacity(9 + rest.len());
        bytes.push(kind);
        bytes.extend_from_slice(&number.to_be_bytes());
        bytes.extend_from_slice(rest);
        bytes
    }

    pub(super) fn decode(mut bytes: Bytes) -> Option<Self> {
        if bytes.len() < 9 {
            return None;
        }
        let (kind, number) = (bytes.get_u8(), bytes.get_u64());
        Some(match kind {
            0 => Self::Ask(number, What::Call, bytes),
            1 => Self::Ask(number, What::Event, bytes),
            2 => Self::Ask(number, What::Http, bytes),
            3 => Self::Cancel(number),
            4 if bytes.len() == 4 => Self::Credit(number, bytes.get_u32()),
            5 => Self::Item(number, bytes),
            6 => Self::End(number),
            7 => Self::Ping,
            8 => Self::AskPart(number, bytes),
            9 => Self::ItemPart(number, bytes),
            _ => return None,
        })
    }

    /// How many bytes it carries.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Ask(_, _, body)
            | Self::Item(_, body)
            | Self::AskPart(_, body)
            | Self::ItemPart(_, body) => body.len(),
            Self::Cancel(_) | Self::Credit(..) | Self::End(_) | Self::Ping => 0,
        }
    }

    /// Whether it is sent in parts.
    pub(super) fn is_large(&self) -> bool {
        self.len() > PART
    }

    /// The request that it belongs to, as the node sees it that sends it.
    pub(super) const fn request(&self) -> Request {
        match self {
            Self::Ask(number, ..)
            | Self::AskPart(number, _)
            | Self::Cancel(number)
            | Self::Credit(number, _) => Request::Own(*number),
            Self::Item(number, _) | Self::ItemPart(number, _) | Self::End(number) => {
                Request::Theirs(*number)
            }
            Self::Ping => Request::None,
        }
    }

    /// Takes the first part of a large one; none if it is not.
    pub(super) fn split(&mut self, most: usize) -> Option<Self> {
        if self.len() <= most {
            return None;
        }
        match self {
            Self::Ask(number, _, body) => Some(Self::AskPart(*number, body.split_to(most))),
            Self::Item(number, body) => Some(Self::ItemPart(*number, body.split_to(most))),
            Self::AskPart(..)
            | Self::ItemPart(..)
            | Self::Cancel(_)
            | Self::Credit(..)
            | Self::End(_)
            | Self::Ping => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_read_as_it_was_written() {
        for frame in [
            Frame::Ask(1, What::Call, Bytes::from_static(b"call")),
            Frame::Ask(2, What::Event, Bytes::new()),
            Frame::Ask(u64::MAX, What::Http, Bytes::from_static(b"x")),
            Frame::Cancel(3),
            Frame::Credit(4, 5),
            Frame::Item(6, Bytes::from_static(b"answer")),
            Frame::End(7),
            Frame::Ping,
            Frame::AskPart(8, Bytes::from_static(b"begin")),
            Frame::ItemPart(9, Bytes::from_static(b"begin")),
        ] {
            assert_eq!(Frame::decode(frame.encode().into()), Some(frame));
        }
        for bad in [
            &b""[..],
            b"12345678",
            b"\x0a\0\0\0\0\0\0\0\0",
            b"\x04\0\0\0\0\0\0\0\0\0",
        ] {
            assert_eq!(Frame::decode(Bytes::copy_from_slice(bad)), None);
        }
    }
}
