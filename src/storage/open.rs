//! Opening the storage.

use std::{path::Path, sync::Arc, time::Duration};

use tokio::{
    sync::{Notify, mpsc, watch},
    time::sleep,
};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::{
    Error, Storage,
    backend::{self, Backend},
    committer::Committer,
    copy,
    handle::Inner,
    index::Indexes,
    long_reads::LongReads,
    memory::{
        agenda::Agenda,
        applied::{Applied, Pulses},
        cache::Cache,
        catalog::Catalog,
        health::Health,
        instant::Instants,
        known_runs::Runs,
        lease::Leases,
        live_runs::LiveRuns,
        mirror::Mirrors,
        missed::MissedIndexes,
        names::Names,
        nodes::Nodes,
        past::Past,
        recent::Recent,
        record_cache::RecordCache,
        shares::Shares,
        topic_news::TopicNews,
        trouble::Troubles,
        usage::Usage,
    },
    port::{
        Copied, CopyError, CopyProgress, DatabaseLocation, Index, Moved, Newest, Progress,
        Restored, Settings,
    },
    room::Room,
};
use crate::clock::{Clock, Timestamp};
use crate::error::{Code, Coded as _};

/// How many finished units may wait for the committer.
const QUEUE_MAX: usize = 4_096;

/// How many pieces of upkeep may wait for the committer.
const CHORES_MAX: usize = 16;

/// The pause before a database that was opened is read again.
const READING_PAUSE: Duration = Duration::from_millis(250);

impl Storage {
    /// Opens the database and brings it up to date. With it comes the committer, without which
    /// nothing is written; it ends once `stop` is cancelled and nobody can submit any more.
    ///
    /// All who write wait for the committer, so it should not wait for its turn among them: on a
    /// thread of its own a service under load is a tenth faster (measured).
    pub async fn open(
        settings: &Settings,
        clock: Clock,
        stop: CancellationToken,
    ) -> Result<(Self, impl Future<Output = ()> + Send + use<>), Error> {
        let (database, newest) = Backend::open(settings).await?;
        let found = loop {
            match Found::read(&database, &clock).await {
                // A server that has just answered may have no connection left for a moment. The
                // caller decides for how long that is waited for.
                Err(error) if database.is_shared() && error.code() == Code::StorageUnavailable => {
                    warn!("the database was opened but cannot be read: {error}; trying again");
                    sleep(READING_PAUSE).await;
                }
                found => break found?,
            }
        };
        Ok(Self::start(database, newest, found, settings, clock, stop))
    }

    /// Brings a database up to date without opening it for use; how many migrations that took.
    pub async fn migrate(settings: &Settings) -> Result<usize, Error> {
        Backend::migrate(settings).await
    }

    /// Copies the database into a file as of one instant, also while a service writes to it. A file
    /// of that name must not exist.
    pub async fn back_up(
        settings: &Settings,
        to: &Path,
        progress: Progress<'_>,
    ) -> Result<Copied, CopyError> {
        backend::back_up(settings, to, progress).await
    }

    /// Puts a copy in the place of the database, while no service has it open. What is there is
    /// kept under another name; without `replace` it is an error.
    ///
    /// Positions of commits after the copy are not given again: to a reader of the feed that knows
    /// one of them, everything that follows is new.
    pub async fn restore(
        settings: &Settings,
        from: &Path,
        replace: bool,
        now: Timestamp,
        progress: Progress<'_>,
    ) -> Result<Restored, CopyError> {
        backend::restore(settings, from, replace, now, progress).await
    }

    /// Copies a database into an empty one of another kind, or resumes that. Neither may be open.
    pub async fn copy(
        from: &DatabaseLocation,
        to: &DatabaseLocation,
        progress: CopyProgress<'_>,
    ) -> Result<Moved, CopyError> {
        copy::copy(from, to, progress).await
    }

    pub(super) fn start(
        database: Backend,
        newest: Newest,
        found: Found,
        settings: &Settings,
        clock: Clock,
        stop: CancellationToken,
    ) -> (Self, impl Future<Output = ()> + Send + use<>) {
        let (submissions, inbox) = mpsc::channel(QUEUE_MAX);
        let (chores, waiting) = mpsc::channel(CHORES_MAX);
        let Found {
            agenda,
            runs,
            live_runs,
            troubles,
            leases,
            mirrors,
            indexes,
        } = found;
        let is_shared = database.is_shared();
        let long_reads = LongReads::new(database.readers());
        let storage = Self(Arc::new(Inner {
            database,
            long_reads,
            runs,
            live_runs,
            cache: Cache::default(),
            past: Past::default(),
            catalog: Catalog::default(),
            names: Names::default(),
            nodes: Nodes::default(),
            recent: Recent::new(newest.sequence),
            records: RecordCache::default(),
            watched: Arc::default(),
            topic_news: TopicNews::default(),
            troubles,
            leases,
            mirrors,
            instants: Instants::new(newest.at),
            clock,
            submissions,
            room: Room::new(settings.queue_bytes),
            applied: Applied::new(newest),
            pulses: Pulses::default(),
            identities: watch::Sender::default(),
            health: Health::default(),
            agenda,
            shares: Shares::default(),
            indexes: Indexes::default(),
            missed: MissedIndexes::new(settings.indexes),
            usage: Usage::default(),
            chores,
            scan_max: settings.scan_max,
            absent_lists_are_null: settings.absent_lists_are_null,
            fill: Notify::new(),
            long_log: Notify::new(),
        }));
        if !is_shared {
            // The clock of a server is known once it was asked; what is written is compared as well.
            storage.0.instants.compare(storage.now());
        }
        storage.0.indexes.swap(indexes);
        let committer = Committer::new(storage.clone(), inbox, waiting, newest);
        let pulse = storage.keep_pulse();
        let run = async move {
            let _until_it_has_stopped = pulse;
            Box::pin(committer.run(stop)).await;
        };
        (storage, run)
    }
}

/// What is known of a database from the start on.
pub(super) struct Found {
    agenda: Agenda,
    runs: Runs,
    live_runs: LiveRuns,
    troubles: Troubles,
    leases: Leases,
    mirrors: Mirrors,
    indexes: Vec<Index>,
}

impl Found {
    pub(super) async fn read(database: &Backend, clock: &Clock) -> Result<Self, Error> {
        // What is due is read later: a service with a long backlog starts as soon as another.
        let (lines, last) = (database.task_lines().await?, database.newest_task().await?);
        let awaiting = database.runs_that_await().await?;
        let is_shared = database.is_shared();
        Ok(Self {
            agenda: Agenda::new(clock.read(), lines, last),
            runs: Runs::new(database.newest_run().await?, awaiting, is_shared),
            live_runs: LiveRuns::new(database.live_runs().await?),
            troubles: Troubles::new(database.troubles().await?),
            // Where several processes use the database, most are other processes'.
            leases: if is_shared {
                Leases::default()
            } else {
                Leases::new(database.leases().await?)
            },
            mirrors: Mirrors::new(&database.mirrors().await?),
            indexes: database.indexes().await?,
        })
    }
}
