//! A runtime for tests.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::{RunSettings, Runtime, Settings};
use crate::clock::{Clock, ManualClock};
use crate::compat::Compat;
use crate::compute::{self, Members};
use crate::engine::Limits;
use crate::storage::{self, DatabaseLocation, Durability, IndexSettings, Migrate, Storage};

/// A runtime in memory, with these settings of runs.
pub(super) async fn runtime_with(clock: &ManualClock, runs: RunSettings) -> Runtime {
    let settings = storage::Settings {
        place: DatabaseLocation::Memory,
        durability: Durability::Full,
        busy_timeout: Duration::from_secs(1),
        cache_kib: 1_000,
        scan_max: 0,
        absent_lists_are_null: false,
        queue_bytes: 64 << 20,
        start_check: Duration::ZERO,
        migrate: Migrate::Yes,
        indexes: IndexSettings::default(),
    };
    let clock = Clock::Manual(clock.clone());
    let opening = Storage::open(&settings, clock.clone(), CancellationToken::new());
    let (storage, committer) = opening.await.expect("opens");
    tokio::spawn(committer);
    let settings = Settings {
        limits: Limits::default(),
        calls: compute::Settings {
            wait_for_member: Duration::ZERO,
            response_timeout: Duration::from_secs(1),
            out_max: 1,
        },
        compat: Compat::default(),
        token_life: Duration::from_secs(1),
        expiry_grace: Duration::ZERO,
        task_pause: Duration::from_secs(1),
        scan_interval: Duration::from_secs(1),
        retry_pause: Duration::from_secs(1),
        runs,
    };
    Runtime::alone(storage, Members::default(), clock, &settings)
}
