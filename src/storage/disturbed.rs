//! Storage over a database that is simulated, or of which the writer is disturbed.
#![cfg(test)]

use std::{sync::Arc, time::Duration};

use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    DatabaseLocation, Durability, Error, IndexSettings, Migrate, Settings, Storage,
    backend::{Backend, Disturbance, Simulated},
    open::Found,
    port::Newest,
};
use crate::clock::Clock;

impl Storage {
    /// Opens what a simulated database holds, as after a restart.
    pub(crate) async fn open_simulated(
        database: &Arc<Simulated>,
        disturbance: Disturbance,
        clock: Clock,
        tasks: &TaskTracker,
    ) -> Result<Self, Error> {
        let (backend, newest) = Backend::simulated(database, disturbance);
        Self::start_disturbed(backend, newest, clock, tasks).await
    }

    /// Opens a database of which only the writer is disturbed. Paused time stands still while it
    /// works.
    pub(crate) async fn open_disturbed(
        settings: &Settings,
        disturbance: Disturbance,
        clock: Clock,
        tasks: &TaskTracker,
    ) -> Result<Self, Error> {
        let (backend, newest) = Backend::disturbed(settings, disturbance).await?;
        Self::start_disturbed(backend, newest, clock, tasks).await
    }

    async fn start_disturbed(
        backend: Backend,
        newest: Newest,
        clock: Clock,
        tasks: &TaskTracker,
    ) -> Result<Self, Error> {
        let settings = Settings {
            place: DatabaseLocation::Memory,
            durability: Durability::Full,
            busy_timeout: Duration::ZERO,
            cache_kib: 0,
            scan_max: 0,
            absent_lists_are_null: false,
            queue_bytes: 64 << 20,
            start_check: Duration::ZERO,
            migrate: Migrate::Yes,
            indexes: IndexSettings::default(),
        };
        let stop = CancellationToken::new();
        let found = Found::read(&backend, &clock).await?;
        let (storage, committer) = Self::start(backend, newest, found, &settings, clock, stop);
        tasks.spawn(committer);
        Ok(storage)
    }
}
