//! What this process has in memory of what is stored: caches, and what follows from commits and is
//! looked at by every request.
//!
//! The committer adds what it has committed, and the pulse what other processes have; both through
//! `applied`, so that readers see the commits in their order. Everything here can be built again
//! from the database, and is lost without harm.

pub(in crate::storage) mod agenda;
pub(in crate::storage) mod applied;
pub(in crate::storage) mod cache;
pub(in crate::storage) mod catalog;
pub(in crate::storage) mod health;
pub(in crate::storage) mod instant;
pub(in crate::storage) mod known_runs;
pub(in crate::storage) mod lease;
pub(in crate::storage) mod live_runs;
pub(in crate::storage) mod mirror;
pub(in crate::storage) mod missed;
pub(in crate::storage) mod names;
pub(in crate::storage) mod nodes;
pub(in crate::storage) mod past;
pub(in crate::storage) mod recent;
pub(in crate::storage) mod record_cache;
pub(in crate::storage) mod shares;
mod steps;
pub(in crate::storage) mod topic_news;
pub(in crate::storage) mod trouble;
pub(in crate::storage) mod usage;
pub(in crate::storage) mod watched;

pub use agenda::NextTask;
pub use known_runs::WokenRun;
pub use lease::StoredLease;
pub use mirror::{MirrorName, ToMirror};
pub use missed::{Sought, Wish};
pub use topic_news::PublishedTypes;
pub use trouble::{Trouble, Work};
pub use watched::Watch;
