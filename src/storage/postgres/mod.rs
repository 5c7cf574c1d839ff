//! `PostgreSQL`: one connection that writes, a pool that reads.
//!
//! Statements live in `sql/`. Commits are a chain: each batch says which commit it follows, and is
//! written only if that one is the newest, so any number of processes may write to one database
//! (`help/design/storage.md` §13). What is reported of the newest commit may be old when it is
//! used; that a batch still fits is what makes it right.

mod batch;
mod copying;
mod definitions;
mod failure;
mod find;
mod identity;
mod job;
mod link;
mod many;
mod model;
mod news;
mod node;
mod pulse;
mod read;
mod record;
mod run;
mod scan_page;
mod server;
mod silence;
mod statement;
mod task;
mod text;
mod timeline;
mod topic;
mod upkeep;
mod writer;

use std::{
    sync::{
        Arc, LazyLock,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use sqlx::{
    Connection as _, Executor as _,
    migrate::{Migrate as _, MigrateError, Migrator},
};
use sqlx_postgres::{PgConnectOptions, PgConnection, PgPool, PgPoolOptions};
use tokio::sync::watch;
use tracing::warn;

use super::{
    port::{Durability, Error, Failure, Migrate, Newest, OpenError, Server, Settings},
    rows::migrator,
};
use crate::entity::Sequence;

pub(super) use copying::CopyEnd;
use failure::Trouble;
pub(super) use failure::understood;
pub(super) use pulse::{Listener, Pulser};
use server::{Reached, Servers};
use silence::Silence;
pub(super) use writer::Writer;

/// What brings a database up to date: the files of `migrations/`, by the build script.
static MIGRATIONS: LazyLock<Migrator> = LazyLock::new(|| {
    migrator(include!(concat!(
        env!("OUT_DIR"),
        "/migrations_postgres.rs"
    )))
});

const MIGRATIONS_MADE: &str = include_str!("sql/migrations_made.sql");

/// Statements a connection keeps prepared.
const STATEMENTS_KEPT: usize = 256;

const SESSION_MIGRATIONS: &str = include_str!("sql/session_migrations.sql");
const SESSION_READS: &str = include_str!("sql/session_reads.sql");

/// How many connections there are beside those that read: one writes, one asks for the newest commit,
/// one waits for notifications, and one says that the process is live.
const BESIDE_READS: u32 = 4;

/// How many connections a service needs at least: two of them read.
const NEEDED: u32 = BESIDE_READS + 2;

/// How many a command needs that uses one: another one shows whether a pooler keeps sessions apart.
const NEEDED_BY_ONE: u32 = 2;

/// How long a read waits for a connection.
const PATIENCE: Duration = Duration::from_secs(2);

/// How long the start waits before it tries again.
const PAUSE: Duration = Duration::from_millis(250);

/// After which time a connection that was not used is asked whether it still is one.
const UNUSED: Duration = Duration::from_secs(1);

/// An open database.
#[derive(Debug)]
pub(super) struct Postgres {
    reads: PgPool,
    /// Older connections of the pool are not used.
    since: Since,
    silence: Silence,
    servers: Servers,
    durability: Durability,
    heart: node::Heart,
    /// Whether the writer was given out.
    writer_taken: AtomicBool,
}

impl Postgres {
    /// Opens the database; what is wrong with it is logged, and tried again until the time is over.
    pub(super) async fn open(
        settings: &Settings,
        server: &Server,
    ) -> Result<(Self, Newest), OpenError> {
        let servers = Servers::parse(&server.url)?;
        let begun = Instant::now();
        let mut said = String::new();
        let database = loop {
            let trouble = match Self::try_open(settings, server, &servers).await {
                Ok(database) => break database,
                Err(trouble) => trouble,
            };
            if begun.elapsed() + PAUSE >= server.patience {
                return Err(trouble.into());
            }
            let text = trouble.to_string();
            if text != said {
                warn!("{text}; trying again for {:?}", server.patience);
                said = text;
            }
            tokio::time::sleep(PAUSE).await;
        };
        let newest = database.newest().await?;
        Ok((database, newest))
    }

    /// The database, with a connection for what is read at the start.
    async fn try_open(
        settings: &Settings,
        server: &Server,
        servers: &Servers,
    ) -> Result<Self, Trouble> {
        let (options, _) = prepare(servers, settings.migrate, NEEDED).await?;
        let reads = pool(server, options, settings.durability, servers.clone());
        drop(reads.acquire().await?);
        Ok(Self {
            reads,
            since: servers.since(),
            silence: Silence::default(),
            servers: servers.clone(),
            durability: settings.durability,
            heart: node::Heart::default(),
            writer_taken: AtomicBool::new(false),
        })
    }

    /// How many connections there are for reads.
    pub(super) fn readers(&self) -> u32 {
        self.reads.options().get_max_connections()
    }

    /// Brings a database up to date without opening it for use; how many migrations that took.
    pub(super) async fn migrate(server: &Server) -> Result<usize, OpenError> {
        let servers = Servers::parse(&server.url)?;
        let (_, migrations) = prepare(&servers, Migrate::Yes, NEEDED_BY_ONE).await?;
        Ok(migrations)
    }

    /// Whether a copy into this database has not been finished.
    pub(super) async fn is_unfinished(&self) -> Result<bool, Error> {
        Ok(copying::is_unfinished(&self.reads).await?)
    }

    /// The one connection that writes; there is one.
    pub(super) fn writer(&self) -> Option<Writer> {
        if self.writer_taken.swap(true, Ordering::AcqRel) {
            return None;
        }
        let (servers, reads) = (self.servers.clone(), self.reads.clone());
        let silence = self.silence.clone();
        Some(Writer::new(servers, self.durability, reads, silence))
    }

    /// Appends a commit that holds nothing, stamped now: nothing will be stamped before it any more.
    pub(super) async fn append_link(&self) -> Result<(), Failure> {
        let connection = self.reads.acquire().await.map_err(Failure::from);
        let appended = match connection {
            Ok(mut connection) => writer::append_empty_link(&mut connection, Sequence(0)).await,
            Err(failure) => Err(failure),
        };
        appended.map_err(failure::without_answer)
    }

    /// Closes every connection.
    pub(super) async fn close(&self, writer: Writer) {
        self.reads.close().await;
        self.heart.close().await;
        writer.close().await;
    }
}

/// From when on connections are known to lead to the server that takes writes.
#[derive(Debug, Clone)]
struct Since(Arc<watch::Sender<Instant>>);

impl Since {
    fn now() -> Self {
        Self(Arc::new(watch::Sender::new(Instant::now())))
    }

    /// Connections that were made before are not used any more.
    fn renew(&self) {
        self.0.send_replace(Instant::now());
    }

    /// Whether a connection of that age may be used.
    fn allows(&self, age: Duration) -> bool {
        age <= self.0.borrow().elapsed()
    }
}

/// Finds the server that takes writes, and brings the database up to date; how many migrations that
/// took.
async fn prepare(
    servers: &Servers,
    migrate: Migrate,
    needed: u32,
) -> Result<(PgConnectOptions, usize), Trouble> {
    let Reached {
        options,
        mut connection,
        ..
    } = servers.connect_among(needed).await?;
    let prepared = whole(&mut connection, migrate).await;
    let _ = connection.close().await;
    prepared.map(|migrations| (options, migrations))
}

/// Brings the database up to date, unless it is a part of another one. A copy that begins meanwhile
/// is noticed when this process enters the list of nodes.
async fn whole(connection: &mut PgConnection, migrate: Migrate) -> Result<usize, Trouble> {
    if copying::is_unfinished(&mut *connection).await? {
        return Err(Trouble::Incomplete);
    }
    bring_up_to_date(connection, migrate).await
}

/// Forward only, one process at a time; a database that is newer than this program is refused. How
/// many migrations it took.
async fn bring_up_to_date(
    connection: &mut PgConnection,
    migrate: Migrate,
) -> Result<usize, Trouble> {
    connection.execute(SESSION_MIGRATIONS).await?;
    let is_made: bool = sqlx::query_scalar(MIGRATIONS_MADE)
        .fetch_one(&mut *connection)
        .await?;
    let applied = if is_made {
        connection
            .list_applied_migrations(&MIGRATIONS.table_name)
            .await?
    } else {
        Vec::new()
    };
    let newest = MIGRATIONS.iter().map(|migration| migration.version).max();
    if applied.iter().any(|done| Some(done.version) > newest) {
        return Err(Trouble::Newer);
    }
    if applied.len() == MIGRATIONS.iter().count() {
        return Ok(0);
    }
    match migrate {
        Migrate::Yes => Ok(apply(connection).await?),
        Migrate::No => Err(Trouble::NotMigrated),
    }
}

/// Applies the migrations that are missing; how many. They are counted under the lock: of several
/// processes, each reports its own.
async fn apply(connection: &mut PgConnection) -> Result<usize, MigrateError> {
    connection.lock().await?;
    let table = &MIGRATIONS.table_name;
    connection.ensure_migrations_table(table).await?;
    let before = connection.list_applied_migrations(table).await?.len();
    MIGRATIONS.run(&mut *connection).await?;
    connection.unlock().await?;
    Ok(MIGRATIONS.iter().count() - before)
}

fn pool(
    server: &Server,
    options: PgConnectOptions,
    durability: Durability,
    servers: Servers,
) -> PgPool {
    let since = servers.since();
    let most = server.max_connections.saturating_sub(BESIDE_READS).max(1);
    PgPoolOptions::new()
        .max_connections(most)
        .min_connections(
            server
                .min_connections
                .saturating_sub(BESIDE_READS)
                .min(most),
        )
        .idle_timeout(Some(server.idle))
        .max_lifetime(None)
        .test_before_acquire(false)
        .acquire_timeout(PATIENCE)
        .before_acquire(move |connection, meta| {
            let is_current = since.allows(meta.age);
            Box::pin(async move {
                if !is_current {
                    return Ok(false);
                }
                if meta.idle_for > UNUSED {
                    connection.ping().await?;
                }
                Ok(true)
            })
        })
        .after_connect(move |connection, _| {
            let servers = servers.clone();
            Box::pin(async move {
                server::prepare(connection, durability).await?;
                connection.execute(SESSION_READS).await?;
                servers.check_again(connection).await
            })
        })
        .connect_lazy_with(options)
}
