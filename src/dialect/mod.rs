//! Documents that people write, read into what the service runs.
//!
//! May use: [`crate::clock`], [`crate::expr`], [`crate::id`], [`crate::program`], [`crate::text`].
//! Must not: await, read a clock, draw a random number, touch storage or files.
//! A reader reports everything that is wrong with a document at once, as [`Finding`]s; only a
//! document without errors becomes a value. So nothing behind this module meets a document that
//! names a step that does not exist.

pub mod flo;
pub mod managers;
pub mod saga;

mod finding;
mod rule;
mod tree;

pub use finding::{Finding, Findings, Severity};
pub use rule::Rule;
pub use tree::{Tree, TreeError};

/// The largest document, in bytes (`runs.md` §4).
pub const DOCUMENT_BYTES_MAX: usize = 1 << 20;
