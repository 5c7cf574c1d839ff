//! Databases that are named on the command line.

use std::sync::Arc;

use super::config::{self, ConfigError, Sources};
use crate::storage::{DatabaseLocation, Server};

/// A database by its name: `sqlite` and `postgres` are those of the settings, others are named by
/// `sqlite:PATH` or a URL.
pub fn named(sources: &Sources, name: &str) -> Result<DatabaseLocation, ConfigError> {
    if name == "sqlite" {
        return config::database_file(sources).map(DatabaseLocation::File);
    }
    if name == "postgres" {
        let server = config::server(sources)?;
        return Ok(DatabaseLocation::Server(
            server.ok_or_else(config::no_server)?,
        ));
    }
    if let Some(path) = name.strip_prefix("sqlite:") {
        let path = path.strip_prefix("//").unwrap_or(path);
        if !path.is_empty() {
            return Ok(DatabaseLocation::File(path.into()));
        }
    }
    if name.starts_with("postgres://") || name.starts_with("postgresql://") {
        return Ok(DatabaseLocation::Server(Server {
            url: Arc::from(name),
            ..config::any_server(sources)?
        }));
    }
    // What was meant as a URL may hold a password.
    let named = name.split_once("://").map_or(name, |(scheme, _)| scheme);
    Err(ConfigError::Together(format!(
        "`{named}` does not name a database; write sqlite:PATH or postgres://USER@HOST/NAME, or \
         sqlite or postgres for the one of the settings"
    )))
}
