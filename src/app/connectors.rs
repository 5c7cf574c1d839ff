//! The settings of connectors (`runs.md` §9).

use std::path::PathBuf;

use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::connector::{Connectors, Files, Settings};
use crate::rest::truth;
use crate::storage::{self, DatabaseLocation};

use super::config::{ConfigError, Sources};

pub(super) fn settings(
    sources: &Sources,
    is_mocked: bool,
    storage: &storage::Settings,
) -> Result<Settings, ConfigError> {
    let folder = sources.string("CONNECTORS_SQLITE_DIR")?;
    let files = match (folder.is_empty(), is_mocked) {
        (false, _) => Files::Below(folder.into()),
        (true, true) => Files::Anywhere,
        (true, false) => Files::Nowhere,
    };
    let private = |text: &str| {
        if text.is_empty() {
            Some(is_mocked)
        } else {
            truth(text)
        }
    };
    let private = sources.read("CONNECTORS_PRIVATE_NETWORKS", "true or false", private)?;
    Ok(Settings {
        private_networks: private,
        files,
        timeout: sources.positive_duration("CONNECTORS_TIMEOUT")?,
        connections_max: sources.count("CONNECTORS_MAX_CONNECTIONS")?,
        own_files: own_files(&storage.place),
    })
}

/// The connectors of the process, whose idle connections are closed until it stops.
pub(super) fn start(
    settings: &Settings,
    tasks: &TaskTracker,
    stop: &CancellationToken,
) -> Connectors {
    let connectors = Connectors::new(settings.clone());
    tasks.spawn(connectors.clone().keep(stop.clone()));
    connectors
}

/// The files of the database of this service.
fn own_files(place: &DatabaseLocation) -> Vec<PathBuf> {
    let DatabaseLocation::File(path) = place else {
        return Vec::new();
    };
    let beside = ["", "-wal", "-shm", ".key"];
    let beside = beside.map(|end| {
        let mut path = path.clone().into_os_string();
        path.push(end);
        path.into()
    });
    beside.into()
}
