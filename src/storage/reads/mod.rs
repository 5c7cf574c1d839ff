//! Reading what was committed: as of one sequence, as of an instant, in the order of the commits,
//! through indexes, and many entities at a time.

mod as_of;
mod feed;
mod lookup;
mod snapshot;
mod sorter;
mod sweep;

pub use feed::{Feed, Wanted};
pub use snapshot::{History, ModelCount, Scan, Snapshot};
pub use sorter::Sorter;
pub use sweep::Sweep;
