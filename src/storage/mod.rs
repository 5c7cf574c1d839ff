//! Durable state: what was committed, and the units of work that add to it.
//!
//! May use: [`crate::id`], [`crate::clock`], [`crate::error`], [`crate::telemetry`],
//! [`crate::entity`], [`crate::model`], [`crate::workflow`],
//! [`crate::engine`], [`crate::pool`], [`crate::random`].
//! Must not: be open towards a database while someone else's code runs (DESIGN decision 3). A
//! [`UnitOfWork`] reads as of one sequence, keeps its writes in memory and hands them to the
//! committer, which validates everything that waits, writes the survivors in one database
//! transaction, and answers when that is durable. STORAGE.md says why.
//!
//! A unit is opened for one tenant, and nothing below takes a tenant from anywhere else.
//!
//! ```text
//! open ─► committer ─► handle ◄─ unit, snapshot, feed, job …
//!             │           │
//!             ▼           ▼
//!         validate     backend ─► sqlite, postgres, simulated (in tests)
//!             │           │          │
//!             ▼           ▼          │
//!           draft ─────► port ◄──────┘
//! ```

mod adaptive;
mod agenda;
mod applied;
mod as_of;
mod assumption;
mod backend;
mod cache;
mod catalog;
mod chore;
mod committer;
mod copy;
mod damage;
mod damaged_pages;
mod draft;
mod driver;
mod due;
mod error;
mod feed;
mod fill;
mod handle;
mod health;
mod identity;
mod incident;
mod index;
mod instant;
mod job;
mod known_runs;
mod lease;
mod leased;
mod live_runs;
mod log;
mod long_reads;
mod lookup;
mod mirror;
mod mirrored;
mod missed;
mod names;
mod node;
mod nodes;
mod open;
mod past;
mod port;
mod postgres;
mod pulse;
mod recent;
mod record_cache;
mod room;
mod rows;
mod run;
mod run_feed;
mod run_retention;
mod share;
mod shares;
mod snapshot;
mod sorter;
mod sqlite;
mod steps;
mod stored_bytes;
mod submission;
mod submit;
mod sweep;
mod task;
mod topic_news;
mod topic_retention;
mod trouble;
mod unit;
mod usage;
mod validate;
mod watched;

#[cfg(test)]
mod disturbed;
#[cfg(test)]
mod simulated;
#[cfg(test)]
mod tests;

pub use agenda::NextTask;
pub use assumption::Assumption;
#[cfg(test)]
pub(crate) use backend::{Disturbance, Moment, Simulated};
pub use draft::{
    Attribution, Committed, ModelChange, NewTopicEvent, Once, Published, StoredOutcome,
};
pub use due::{Due, Seen};
pub use error::Error;
pub use feed::{Feed, Wanted};
pub use handle::Storage;
pub use job::{JobPlan, JobTenant, NewJob};
pub use known_runs::WokenRun;
pub use lease::StoredLease;
pub use mirror::{MirrorName, ToMirror};
pub use missed::{Sought, Wish};
pub use node::NameTaken;
pub use port::{
    Copied, CopyError, CopyProgress, CopyStep, DatabaseLocation, Definitions, Durability, Finished,
    Identity, IdentityChange, IdentityKind, Index, IndexRow, IndexSettings, IndexState, Job,
    JobEnd, JobRow, JobState, Keyed, Listed, ListedTopic, MemberChange, Message, Migrate, Moved,
    Node, NodeEntry, NodeMember, NodeRow, Ordered, Print, Probe, Progress, Record, RecordHead,
    RecordKey, RecordKind, RecordOrigin, RecordRow, Recorded, Remembered, RunEvents, RunKey,
    RunKeyKind, RunName, RunsWanted, ScanLifecycle, ScanPage, ScanRow, Server, Settings,
    StoredProducer, StoredRun, Subject, Task, TaskKey, TaskKind, TaskLine, TaskPage, TaskRef,
    TopicEvent, TopicKey, UsedIndexes, Version,
};
pub use rows::DRIVER;
pub use run::RunEnd;
pub use run_feed::{FollowedRuns, RunFeed};
pub use snapshot::{History, ModelCount, Scan, Snapshot};
pub use sorter::Sorter;
pub use sweep::Sweep;
pub use task::NewTask;
pub use trouble::{Trouble, Work};
pub use unit::{Mark, NewRun, RunAdvance, RunSignal, UnitOfWork};
pub use watched::Watch;
