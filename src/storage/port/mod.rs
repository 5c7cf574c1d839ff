//! The port: what storage asks of a database, in types that belong to none of them.
//!
//! It has the keys of rows, what reads return, batches and chores to be written, and how a
//! database fails. [`super::backend`] lists every read and write with its signature; `sqlite` and,
//! in tests, `simulated` implement them. Those name only this module, and nothing else names them:
//! whatever validates, caches, commits or follows does not know which database there is.
//!
//! `SQLite` has one writer, so what it knows of the newest commit is final. To `PostgreSQL` other
//! processes write as well (`help/design/storage.md` §13):
//!
//! - [`Batch`] says which commit it follows. If someone else was first, nothing of it is written,
//!   what is new is read, and the batch is validated again.
//! - An [`Upkeep`] that changes what batches are validated by is a commit of its own, with a
//!   position: a [`Link`].
//!
//! For several nodes one more is to come: [`Newest`] is read whenever a request begins to read,
//! with the entities that have moved since a position, whose cached versions are not current any
//! more.

mod batch;
mod chore;
mod claim;
mod copy;
mod definitions;
mod failure;
mod feed;
mod identity;
mod index;
mod job;
mod key;
mod model;
mod node;
mod outcome;
mod pulse;
mod record;
mod run;
mod scan_page;
mod settings;
mod table;
mod task;
mod topic;
mod version;

pub(in crate::storage) use batch::{
    Batch, CommitRow, DeltaRow, EntityMove, Folded, Freed, KeyRow, MessageGone, MessageRow,
    NewClaim, NewDecision, NewEntity, NewRun, NewVersion, OutcomeRow, RecordGone, RecordPut,
    Removals, RunEnd, RunEventRow, RunKeyRow, RunMove, RunTimer, TaskDone, TaskRow, TimerDone,
    TopicEventRow, TopicPut, Written,
};
pub(in crate::storage) use chore::{FilledKey, FreedBytes, JobChore, KeptUp, Link, Upkeep};
pub(in crate::storage) use claim::Claim;
pub use copy::{Copied, CopyError, CopyProgress, CopyStep, Moved, Progress, Restored};
pub use definitions::Definitions;
pub(in crate::storage) use failure::{Cause, Error, Failure, Misplaced, OpenError, Syncing};
pub(in crate::storage) use feed::ChangeRange;
pub use identity::{Identity, IdentityChange, IdentityKind};
pub use index::{Index, IndexState, Keyed, Ordered, Probe};
pub(in crate::storage) use index::{Indexable, Leaving, OfModel, Stretch, Use};
pub(in crate::storage) use job::StoredJob;
pub use job::{Finished, Job, JobEnd, JobState};
pub(in crate::storage) use key::{ActorRow, EntityRow, ModelRow, TenantRow};
pub use key::{IndexRow, JobRow, TaskKey, TaskLine, TaskRef};
pub(in crate::storage) use model::{Edit, Effect, ModelCommit};
pub use node::{MemberChange, Node, NodeEntry, NodeMember, NodeRow};
pub(in crate::storage) use outcome::Stored;
pub use outcome::{PROVISIONAL, Print, Remembered};
pub(in crate::storage) use pulse::{Pulse, RunMoved};
pub use record::{
    Record, RecordHead, RecordKey, RecordKind, RecordOrigin, RecordRow, StoredProducer,
};
pub(in crate::storage) use record::{RecordHeadPage, RecordPage};
pub(in crate::storage) use run::{OldRun, OldRunsWanted, RunNameRow};
pub use run::{RunEvents, RunKey, RunKeyKind, RunName, RunsWanted, StoredRun};
pub(in crate::storage) use scan_page::{Entry, LifecycleEntry, Lifecycles, Reached, ScanRequest};
pub use scan_page::{ScanLifecycle, ScanPage, ScanRow};
pub use settings::{
    DatabaseLocation, Durability, IndexSettings, Migrate, Server, Settings, UsedIndexes,
};
pub(in crate::storage) use table::{CopyMark, Kind, Row, Table, Value};
pub use task::{Subject, Task, TaskKind, TaskPage};
pub use topic::{ListedTopic, TopicEvent, TopicKey};
pub(in crate::storage) use topic::{TopicHead, TopicPage, TopicRow};
pub use version::{Listed, Message, Recorded, Version};
pub(in crate::storage) use version::{Newest, UNCOMMITTED};
