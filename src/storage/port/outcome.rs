//! What became of requests that are to be done once, as a database has it.

use std::sync::Arc;

use super::TenantRow;

/// Distinguishes the payload of a request from that of another.
pub type Print = [u8; 32];

/// An outcome that was stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remembered {
    pub part: u32,
    pub print: Print,
    pub answer: Arc<str>,
}

/// What is stored for a key, without the answer.
#[derive(Debug)]
pub(in crate::storage) struct Stored {
    pub(in crate::storage) tenant: TenantRow,
    pub(in crate::storage) key: String,
    pub(in crate::storage) part: u32,
    pub(in crate::storage) print: Print,
}
