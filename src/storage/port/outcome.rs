//! What became of requests that are to be done once, as a database has it.

use std::sync::Arc;

use super::TenantRow;

/// Distinguishes the payload of a request from that of another.
pub type Print = [u8; 32];

/// How the answer of an outcome begins that is replaced once the rest of its request has ended. It
/// is in front of JSON, so a process of an earlier version can read it all the same.
pub const PROVISIONAL: char = ' ';

/// An outcome that was stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remembered {
    pub part: u32,
    pub print: Print,
    pub answer: Arc<str>,
}

impl Remembered {
    /// Whether a part of the request was committed and the rest is in flight.
    pub fn is_provisional(&self) -> bool {
        self.answer.starts_with(PROVISIONAL)
    }
}

/// What is stored for a key, without the answer.
#[derive(Debug)]
pub(in crate::storage) struct Stored {
    pub(in crate::storage) tenant: TenantRow,
    pub(in crate::storage) key: String,
    pub(in crate::storage) part: u32,
    pub(in crate::storage) print: Print,
}
