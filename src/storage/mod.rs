//! Durable state: what was committed, and the units of work that add to it.
//!
//! May use: [`crate::id`], [`crate::clock`], [`crate::error`], [`crate::telemetry`],
//! [`crate::entity`], [`crate::model`], [`crate::workflow`],
//! [`crate::engine`], [`crate::pool`], [`crate::random`], [`crate::shares`].
//! Must not: be open towards a database while someone else's code runs
//! (`help/design/architecture.md` §3). A [`UnitOfWork`] reads as of one sequence, keeps its writes
//! in memory and hands them to the committer, which validates everything that waits, writes the
//! survivors in one database transaction, and answers when that is durable.
//! `help/design/storage.md` says why.
//!
//! A unit is opened for one tenant, and nothing below takes a tenant from anywhere else.
//!
//! ```text
//! open ─► committer ─► handle ◄─ reads, unit, runs, sharing, upkeep …
//!             │           ├────► memory
//!             ▼           ▼
//!         validate     backend ─► sqlite, postgres, simulated (in tests)
//!             │           │          │
//!             ▼           ▼          │
//!           draft ─────► port ◄──────┘
//! ```

mod assumption;
mod backend;
mod chore;
mod committer;
mod copy;
mod damage;
mod draft;
mod due;
mod error;
mod handle;
mod identity;
mod index;
mod job;
mod long_reads;
mod memory;
mod open;
mod port;
mod postgres;
mod reads;
mod room;
mod rows;
mod runs;
mod sharing;
mod sqlite;
mod submission;
mod submit;
mod task;
mod unit;
mod upkeep;
mod validate;

#[cfg(test)]
mod disturbed;
#[cfg(test)]
mod simulated;
#[cfg(test)]
mod tests;

pub use assumption::Assumption;
#[cfg(test)]
pub(crate) use backend::{Disturbance, Moment, Simulated};
pub use draft::{
    Attribution, Committed, IfGone, ModelChange, NewTopicEvent, Once, Published, StoredOutcome,
    TaskNote,
};
pub use due::{Due, Seen};
pub use error::Error;
pub use handle::Storage;
pub use job::{JobPlan, JobTenant, NewJob};
pub use memory::{
    MirrorName, NextTask, PublishedTypes, Sought, StoredLease, ToMirror, Trouble, Watch, Wish,
    WokenRun, Work,
};
pub use port::{
    Copied, CopyError, CopyProgress, CopyStep, DatabaseLocation, Definitions, Durability, Finished,
    Identity, IdentityChange, IdentityKind, Index, IndexRow, IndexSettings, IndexState, Job,
    JobEnd, JobRow, JobState, Keyed, Listed, ListedTopic, MemberChange, Message, Migrate, Moved,
    Node, NodeEntry, NodeMember, NodeRow, Ordered, PROVISIONAL, Print, Probe, Progress, Record,
    RecordHead, RecordKey, RecordKind, RecordOrigin, RecordRow, Recorded, Remembered, Restored,
    RunEvents, RunKey, RunKeyKind, RunName, RunsWanted, ScanLifecycle, ScanPage, ScanRow, Server,
    Settings, StoredProducer, StoredRun, Subject, Task, TaskKey, TaskKind, TaskLine, TaskPage,
    TaskRef, TopicEvent, TopicKey, UsedIndexes, Version,
};
pub use reads::{Feed, History, ModelCount, Scan, Snapshot, Sorter, Sweep, Wanted};
pub use rows::DRIVER;
pub use runs::{FollowedRuns, RunEnd, RunFeed};
pub use sharing::NameTaken;
pub use task::NewTask;
pub use unit::{Mark, NewRun, RunAdvance, RunSignal, UnitOfWork};
