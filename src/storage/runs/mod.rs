//! Runs as they are stored, and the records about them: incidents, leases, who waits for their ends,
//! and the tables of other databases that show them.

mod awaited;
mod feed;
mod incident;
mod leased;
mod mirrored;
mod stored;

pub use feed::{FollowedRuns, RunFeed};
pub use stored::RunEnd;
