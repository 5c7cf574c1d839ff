//! Where a database is, and how it is used.

use std::{fmt, path::PathBuf, sync::Arc, time::Duration};

/// Where the database is and how it is used.
#[derive(Debug, Clone)]
pub struct Settings {
    pub place: DatabaseLocation,
    pub durability: Durability,
    /// How long a lock of another process is waited for.
    pub busy_timeout: Duration,
    /// Page cache of all connections together, in KiB.
    pub cache_kib: u32,
    /// How many entities a search may evaluate by what no database can say; 0 for any number.
    pub scan_max: usize,
    /// Whether `IS_NULL` holds below a list that is not there (`search.md` §3).
    pub absent_lists_are_null: bool,
    /// How many bytes of large units may wait to be committed.
    pub queue_bytes: usize,
    /// For how long damaged pages are looked for at the start.
    pub start_check: Duration,
    pub migrate: Migrate,
    pub indexes: IndexSettings,
}

/// Where a database is.
#[derive(Debug, Clone)]
pub enum DatabaseLocation {
    File(PathBuf),
    /// Gone when the process ends.
    Memory,
    /// On a server of `PostgreSQL`.
    Server(Server),
}

/// A database on a server, and how it is reached.
#[derive(Clone)]
pub struct Server {
    /// With the password.
    pub url: Arc<str>,
    /// How many connections there are at most, the one that writes included.
    pub max_connections: u32,
    /// How many stay open that nobody uses.
    pub min_connections: u32,
    /// How long others stay open that nobody uses.
    pub idle: Duration,
    /// How long the start waits for a server that can be used.
    pub patience: Duration,
}

impl Server {
    /// Where it is, without the user and the password.
    fn place(&self) -> &str {
        let place = self.url.rsplit_once('@').map(|(_, place)| place);
        let place = place.or_else(|| self.url.split_once("://").map(|(_, place)| place));
        let place = place.and_then(|place| place.split('?').next());
        place.unwrap_or_default()
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Server({})", self.place())
    }
}

/// As the log names it.
impl fmt::Display for DatabaseLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Memory => f.write_str("memory"),
            Self::Server(server) => write!(f, "postgres://{}", server.place()),
        }
    }
}

/// What an acknowledgement means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// It is on the disk.
    Full,
    /// A crash of the machine may lose the last moments.
    Relaxed,
}

/// Whether an older database is brought up to date when it is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Migrate {
    Yes,
    /// An older database is refused.
    No,
}

/// Which indexes there are, and when they come and go.
#[derive(Debug, Clone, Copy)]
pub struct IndexSettings {
    pub used: UsedIndexes,
    /// How many entities searches must have read without a match, for want of an index, before it
    /// is made.
    pub visits: u32,
    /// How many indexes that nobody declared a model has at most.
    pub per_model_max: u32,
    /// After which time one that no search has used is dropped.
    pub unused: Duration,
}

impl Default for IndexSettings {
    fn default() -> Self {
        Self {
            used: UsedIndexes::Adaptive,
            visits: 100_000,
            per_model_max: 8,
            unused: Duration::from_hours(168),
        }
    }
}

/// Which indexes searches use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UsedIndexes {
    /// The declared ones, and others where that pays.
    Adaptive,
    /// The declared ones; others are dropped.
    Declared,
    /// None, though the declared ones are maintained, so that they serve once they may again.
    None,
}
