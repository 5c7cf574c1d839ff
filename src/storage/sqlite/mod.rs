//! `SQLite`: one file in WAL mode, one connection that writes, a few that read.
//!
//! Statements live in `sql/`. What sqlx does to `SQLite` costs a thread hop per text, so a batch is
//! one text (`help/design/limits.md` (c), `help/design/storage.md` §3).
//! A bound limit is written `+?`. Of a bare one the planner takes the value, and so `SQLite` prepares
//! the statement again each time it is bound: a third of what a small search cost (measured).

mod backup;
mod checkpoint;
mod copying;
mod definitions;
mod find;
mod header;
mod heads;
mod identity;
mod job;
mod lock;
mod many;
mod model;
mod packed;
mod pages;
mod place;
mod read;
mod record;
mod run;
mod run_rows;
mod scan_page;
mod script;
mod sorter;
mod statement;
mod tail;
mod task;
mod topic;
mod upkeep;
mod writer;

use std::{
    cmp, fs, io,
    path::Path,
    sync::{
        LazyLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use sqlx::{ConnectOptions as _, Connection as _, migrate::Migrator};
use sqlx_sqlite::{
    SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqlitePool, SqlitePoolOptions,
    SqliteSynchronous,
};

use tracing::{error, info, warn};

use super::{
    port::{DatabaseLocation, Durability, Failure, Migrate, Newest, OpenError, Settings},
    rows::migrator,
};

pub(super) use backup::{back_up, restore};
pub(super) use checkpoint::Checkpointer;
pub(super) use copying::CopyEnd;
use lock::{Lock, lock_or_make, unusable};
use place::Placement;
pub(super) use sorter::Sorter;
use writer::Log;
pub(super) use writer::Writer;

/// What brings a database up to date: the files of `migrations/`, by the build script.
static MIGRATIONS: LazyLock<Migrator> =
    LazyLock::new(|| migrator(include!(concat!(env!("OUT_DIR"), "/migrations_sqlite.rs"))));

const IS_FOREIGN: &str = include_str!("sql/is_foreign.sql");

/// The mode of files: only their owner reads and writes them.
const MODE: u32 = 0o600;

/// How many connections read from a file.
const READERS: u32 = 4;

/// Pages of the log after which the writer itself copies it back, if nobody has before: fewer and
/// longer pauses than the default, 96 k against 73 k rows per second
/// (`help/design/storage.md` §5).
const CHECKPOINT_PAGES: u32 = 8_000;

/// The longest wait for a lock of `SQLite` that the driver takes.
const BUSY_TIMEOUT_MAX: Duration = Duration::from_millis(0x7fff_ffff);

/// Statements a connection keeps prepared. Those of batches are large, and few.
const STATEMENTS_KEPT: usize = 64;

/// The codes of `SQLite` for shared memory that cannot be made as large as it has to be, and for files
/// that cannot be made beside the database.
const NO_ROOM_BESIDE: &str = "4874";
const READ_ONLY_FOLDER: &str = "1544";

/// An open database.
#[derive(Debug)]
pub(super) struct Sqlite {
    reads: SqlitePool,
    options: SqliteConnectOptions,
    place: DatabaseLocation,
    durability: Durability,
    /// Where the files are; in memory there are none.
    placement: Option<Placement>,
    /// Whether the check at the start has found a damaged page.
    damaged: bool,
    /// Held while the database is open, so that no second process writes beside us.
    _lock: Option<Lock>,
    /// Whether the writer was given out.
    writer_taken: AtomicBool,
}

impl Sqlite {
    pub(super) async fn open(settings: &Settings) -> Result<(Self, Newest), OpenError> {
        check(&settings.place).await?;
        let lock = lock_or_make(&settings.place)?;
        let mut options = options(settings);
        let (mut placement, mut damaged) = (None, false);
        let reads = match &settings.place {
            DatabaseLocation::File(path) => {
                report_tail(path);
                let is_cut_off = is_cut_off(path)?;
                // The first connection makes the file, and its journal mode stays with it.
                let mut first = connect(&options, path).await?;
                damaged = look_for_damage(&options, settings.start_check).await? || is_cut_off;
                if copying::is_unfinished(&mut first).await? {
                    return Err(OpenError::Incomplete);
                }
                bring_up_to_date(&mut first, settings.migrate).await?;
                let placed = Placement::of(path)?;
                first.close().await?;
                // From here on, a file that is not there was taken away.
                options = options.create_if_missing(false);
                let here = placed.clone();
                placement = Some(placed);
                let readers = pool(READERS).after_connect(move |_, _| {
                    let here = here.check(None);
                    Box::pin(async move { Ok(here?) })
                });
                readers.connect_lazy_with(options.clone().read_only(true))
            }
            DatabaseLocation::Memory | DatabaseLocation::Server(_) => {
                let only = pool(1)
                    .min_connections(1)
                    .connect_with(options.clone())
                    .await?;
                bring_up_to_date(&mut *only.acquire().await?, Migrate::Yes).await?;
                only
            }
        };
        let database = Self {
            reads,
            options,
            place: settings.place.clone(),
            durability: settings.durability,
            placement,
            damaged,
            _lock: lock,
            writer_taken: AtomicBool::new(false),
        };
        let newest = database.newest().await?;
        Ok((database, newest))
    }

    /// Brings a database up to date without opening it for use; how many migrations that took.
    pub(super) async fn migrate(settings: &Settings) -> Result<usize, OpenError> {
        check(&settings.place).await?;
        let _lock = lock_or_make(&settings.place)?;
        let options = options(settings);
        let mut connection = match &settings.place {
            DatabaseLocation::File(path) => connect(&options, path).await?,
            DatabaseLocation::Memory | DatabaseLocation::Server(_) => options.connect().await?,
        };
        let applied = applied(&mut connection).await?;
        MIGRATIONS.run(&mut connection).await?;
        connection.close().await?;
        Ok(MIGRATIONS.iter().count() - applied)
    }

    /// How many connections there are for reads.
    pub(super) fn readers(&self) -> u32 {
        self.reads.options().get_max_connections()
    }

    /// The one connection that writes; there is one.
    pub(super) fn writer(&self) -> Option<Writer> {
        if self.writer_taken.swap(true, Ordering::AcqRel) {
            return None;
        }
        Some(match &self.placement {
            Some(placement) => {
                let log = Log::of(placement.clone(), self.durability);
                Writer::own(self.options.clone(), log)
            }
            None => Writer::shared(self.reads.clone()),
        })
    }

    /// Whether the check at the start has found a damaged page.
    pub(super) const fn is_damaged(&self) -> bool {
        self.damaged
    }

    /// Looks for damaged pages, for so long at most, and says in the log which they are.
    pub(super) async fn name_damage(&self, within: Duration) -> Result<(), Failure> {
        if self.placement.is_some() {
            pages::look(&self.options, within).await?.report();
        }
        Ok(())
    }

    /// What copies the log back beside the writer; a database in memory has none.
    pub(super) fn checkpointer(&self) -> Option<Checkpointer> {
        let has_log = matches!(self.place, DatabaseLocation::File(_));
        has_log.then(|| Checkpointer::new(self.options.clone()))
    }

    /// Closes every connection, the writing one last: it copies the log back, so that the file
    /// alone is the whole database.
    pub(super) async fn close(&self, writer: Writer) {
        self.reads.close().await;
        if let Err(error) = writer.close().await {
            warn!(%error, "the database was not closed cleanly; its log stays beside it");
        }
    }
}

/// Says what of the log will not be recovered. That it is cut after the last commit is nothing
/// unusual after a crash: what was not synced was not acknowledged.
fn report_tail(database: &Path) {
    let log = database.canonicalize().map(|path| place::log_of(&path));
    let Ok(log) = log else { return };
    match tail::read(&log) {
        Ok(Some(tail)) if tail.commits > 0 || (tail.kept == 0 && tail.frames > 0) => error!(
            log = %log.display(),
            dropped_frames = tail.frames,
            dropped_bytes = tail.bytes,
            dropped_commits = tail.commits,
            recovered_frames = tail.kept,
            "the end of the log cannot be read and is dropped; acknowledged commits may be lost: \
             compare with a backup"
        ),
        Ok(Some(tail)) if tail.frames > 0 => info!(
            log = %log.display(),
            dropped_frames = tail.frames,
            dropped_bytes = tail.bytes,
            recovered_frames = tail.kept,
            "the log ends with a commit that was not finished; it was not acknowledged and is dropped"
        ),
        Ok(_) => {}
        Err(error) => warn!(%error, log = %log.display(), "the log could not be looked at"),
    }
}

/// Whether the end of the file is missing. The last pages may still be in the log.
fn is_cut_off(database: &Path) -> Result<bool, OpenError> {
    if backup::has_log(database) {
        return Ok(false);
    }
    let found = header::cut_off(database).map_err(unusable(database))?;
    if let Some(cut_off) = &found {
        error!(
            problem = %cut_off,
            "the end of the database is missing; stop the service, restore a backup, and start it again"
        );
    }
    Ok(found.is_some())
}

/// Whether a page is damaged. What cannot be looked at now shows when it is read.
async fn look_for_damage(
    options: &SqliteConnectOptions,
    within: Duration,
) -> Result<bool, OpenError> {
    if within.is_zero() {
        return Ok(false);
    }
    let found = pages::look(options, within).await?;
    found.report();
    Ok(found.is_damaged())
}

/// A pool whose connections live as long as it does.
fn pool(size: u32) -> SqlitePoolOptions {
    SqlitePoolOptions::new()
        .max_connections(size)
        .idle_timeout(None)
        .max_lifetime(None)
        .test_before_acquire(false)
        .acquire_timeout(Duration::from_secs(30))
}

fn options(settings: &Settings) -> SqliteConnectOptions {
    let options = match &settings.place {
        DatabaseLocation::File(path) => SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .pragma("wal_autocheckpoint", CHECKPOINT_PAGES.to_string()),
        DatabaseLocation::Memory | DatabaseLocation::Server(_) => {
            SqliteConnectOptions::new().in_memory(true)
        }
    };
    // A negative cache size is in KiB; the setting is for all connections together.
    let cache = i64::from(settings.cache_kib / (READERS + 1));
    options
        // The writer sees to it that commits are on the disk.
        .synchronous(SqliteSynchronous::Normal)
        // The driver counts milliseconds in 31 bits.
        .busy_timeout(settings.busy_timeout.min(BUSY_TIMEOUT_MAX))
        .pragma("cache_size", (-cache.max(1)).to_string())
        .statement_cache_capacity(STATEMENTS_KEPT)
        .disable_statement_logging()
}

/// The first connection to a file. Of these errors `SQLite` does not say what they are about.
async fn connect(
    options: &SqliteConnectOptions,
    path: &Path,
) -> Result<SqliteConnection, OpenError> {
    let error = match options.connect().await {
        Ok(connection) => return Ok(connection),
        Err(error) => error,
    };
    let code = error
        .as_database_error()
        .and_then(sqlx::error::DatabaseError::code);
    Err(match code.as_deref() {
        Some(NO_ROOM_BESIDE) => unusable(path)(io::ErrorKind::StorageFull.into()),
        Some(READ_ONLY_FOLDER) => {
            let folder = path.parent().unwrap_or(path);
            unusable(folder)(io::ErrorKind::PermissionDenied.into())
        }
        _ => error.into(),
    })
}

/// Fails if there is a file that is not a database of this service. Nothing is made in it or beside it
/// then.
async fn check(place: &DatabaseLocation) -> Result<(), OpenError> {
    let DatabaseLocation::File(path) = place else {
        return Ok(());
    };
    let named = path.clone();
    // The file may be on another machine that does not answer, and others wait for this thread.
    let checked = tokio::task::spawn_blocking(move || header::check(&named)).await;
    checked.map_err(io::Error::other)??;
    if is_foreign(path).await {
        return Err(unusable(path)(io::Error::other(
            "it is not a database of Interlock, but of another program",
        )));
    }
    Ok(())
}

/// Whether a database has the tables of another program, beside which ours would be made. What cannot
/// be read is named by who needs it.
async fn is_foreign(path: &Path) -> bool {
    // An empty file has no tables, and `SQLite` would delete a log that is beside it.
    if fs::metadata(path).is_ok_and(|file| file.len() == 0) {
        return false;
    }
    let found = async {
        let mut connection = backup::read_only(path).connect().await?;
        let found = sqlx::query_scalar(IS_FOREIGN).fetch_one(&mut connection);
        let found = found.await?;
        connection.close().await?;
        Ok::<bool, sqlx::Error>(found)
    };
    found.await.unwrap_or(false)
}

/// Forward only; a database that is newer than this program is refused.
async fn bring_up_to_date(
    connection: &mut SqliteConnection,
    migrate: Migrate,
) -> Result<(), OpenError> {
    if migrate == Migrate::Yes {
        return Ok(MIGRATIONS.run(connection).await?);
    }
    match applied(connection).await?.cmp(&MIGRATIONS.iter().count()) {
        cmp::Ordering::Equal => Ok(()),
        cmp::Ordering::Less => Err(OpenError::NotMigrated),
        cmp::Ordering::Greater => Err(OpenError::Newer),
    }
}

/// How many migrations the database has had.
async fn applied(connection: &mut SqliteConnection) -> Result<usize, OpenError> {
    use sqlx::migrate::Migrate as _;
    let table = &MIGRATIONS.table_name;
    connection.ensure_migrations_table(table).await?;
    Ok(connection.list_applied_migrations(table).await?.len())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use sqlx::{AssertSqlSafe, Execute as _, Executor as _, SqlSafeStr as _};

    use super::*;
    use crate::storage::port::{
        Batch, EntityMove, Freed, IndexSettings, KeyRow, MessageGone, NewDecision, RecordGone,
        TaskDone, Written,
    };

    pub(super) fn settings(place: DatabaseLocation) -> Settings {
        Settings {
            place,
            durability: Durability::Full,
            busy_timeout: Duration::from_secs(1),
            cache_kib: 1_000,
            scan_max: 0,
            absent_lists_are_null: false,
            queue_bytes: 64 << 20,
            start_check: Duration::from_secs(1),
            migrate: Migrate::Yes,
            indexes: IndexSettings::default(),
        }
    }

    #[tokio::test]
    async fn every_statement_prepares_on_a_migrated_database() {
        let (database, _) = Sqlite::open(&settings(DatabaseLocation::Memory))
            .await
            .expect("opens");
        let mut connection = database.reads.acquire().await.expect("a connection");
        let sorter = include_str!("sql/sorter/create.sql");
        connection.execute(sorter).await.expect("a table");
        for folder in ["", "batch/", "sorter/"] {
            let folder = format!("src/storage/sqlite/sql/{folder}");
            for file in fs::read_dir(folder).expect("readable") {
                let path = file.expect("readable").path();
                if path.is_dir() || path.ends_with("sorter/create.sql") {
                    continue;
                }
                let sql = fs::read_to_string(&path).expect("readable");
                if let Err(error) = connection.prepare(AssertSqlSafe(sql).into_sql_str()).await {
                    panic!("{}: {error}", path.display());
                }
            }
        }
    }

    #[tokio::test]
    async fn a_batch_looks_through_no_table() {
        let (database, _) = Sqlite::open(&settings(DatabaseLocation::Memory))
            .await
            .expect("opens");
        let mut connection = database.reads.acquire().await.expect("a connection");
        let key = || crate::entity::Key::null();
        let batch = Batch {
            moved: vec![EntityMove {
                e: 1,
                n: 1,
                state: "A".into(),
            }],
            freed: vec![Freed(1)],
            tasks_done: vec![TaskDone(1)],
            messages_gone: vec![MessageGone {
                id: uuid::Uuid::nil(),
                t: 1,
            }],
            records_gone: vec![RecordGone {
                t: 1,
                kind: 1,
                ns: "n".into(),
                name: "r".into(),
            }],
            keys_removed: vec![KeyRow {
                p: 1,
                key: key(),
                e: 1,
            }],
            ..Batch::default()
        };
        let text = batch
            .script(&mut script::Texts::default())
            .expect("encodes")
            .expect("small")
            .sql()
            .as_str()
            .to_owned();
        for statement in text.split(';').filter(|text| text.contains(" where ")) {
            let plan = format!("explain query plan {statement}");
            let rows: Vec<(i64, i64, i64, String)> = sqlx::query_as(AssertSqlSafe(plan))
                .fetch_all(&mut *connection)
                .await
                .expect(statement);
            for (_, _, _, step) in rows {
                let scanned = step.strip_prefix("SCAN ").unwrap_or("constant");
                let is_table = [
                    "entity",
                    "message",
                    "record",
                    "search_key",
                    "task",
                    "unique_key",
                ]
                .contains(&scanned);
                assert!(!is_table, "{statement}: {step}");
            }
        }
    }

    #[tokio::test]
    async fn a_scan_page_is_read_in_the_order_of_indexes() {
        let (database, _) = Sqlite::open(&settings(DatabaseLocation::Memory))
            .await
            .expect("opens");
        let mut connection = database.reads.acquire().await.expect("a connection");
        for name in ["scan_page", "scan_page_with_lifecycle"] {
            let sql = fs::read_to_string(format!("src/storage/sqlite/sql/{name}.sql"));
            let plan = format!("explain query plan {}", sql.expect("readable"));
            let rows: Vec<(i64, i64, i64, String)> = sqlx::query_as(AssertSqlSafe(plan))
                .fetch_all(&mut *connection)
                .await
                .expect(name);
            let steps: Vec<_> = rows.iter().map(|(.., step)| step.as_str()).collect();
            let is_far =
                |step: &&&str| step.contains("TEMP B-TREE") || step.contains("SCAN entity");
            assert!(!steps.iter().any(|step| is_far(&step)), "{steps:#?}");
            for index in ["entity_id_order", "entity_gone_id_order"] {
                assert!(steps.iter().any(|step| step.contains(index)), "{steps:#?}");
            }
        }
    }

    #[tokio::test]
    async fn a_batch_that_is_refused_leaves_the_writer_as_it_was() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = DatabaseLocation::File(folder.path().join("interlock.db"));
        let (database, _) = Sqlite::open(&settings(place)).await.expect("opens");
        let mut writer = database.writer().expect("the first");
        let decisions = |numbers: &mut dyn Iterator<Item = i64>| Batch {
            decisions: numbers
                .map(|n| NewDecision {
                    n,
                    e: 1,
                    record: "{}".into(),
                })
                .collect(),
            ..Batch::default()
        };
        // In one text, and in parts.
        for (from, count) in [(0, 2), (1_000, 600)] {
            let twice = decisions(&mut (from..from + count).chain([from]));
            assert!(writer.write(&twice).await.is_err());
            let once = decisions(&mut (from..from + count));
            let syncing = writer.write(&once).await.expect("nothing is left of it");
            let Written::Syncing(syncing) = syncing else {
                panic!("nobody else writes");
            };
            syncing.await.expect("durable");
        }
    }

    #[tokio::test]
    async fn a_second_opener_is_refused_and_an_old_database_is_not_touched_unasked() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut settings = settings(DatabaseLocation::File(
            folder.path().join("new/interlock.db"),
        ));
        settings.migrate = Migrate::No;
        assert!(matches!(
            Sqlite::open(&settings).await,
            Err(OpenError::NotMigrated)
        ));
        Sqlite::migrate(&settings).await.expect("migrates");
        let _open = Sqlite::open(&settings).await.expect("opens");
        assert!(matches!(
            Sqlite::open(&settings).await,
            Err(OpenError::InUse(_))
        ));
    }

    #[tokio::test]
    async fn a_newer_database_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut settings = settings(DatabaseLocation::File(folder.path().join("interlock.db")));
        Sqlite::migrate(&settings).await.expect("migrates");
        let mut connection = options(&settings).connect().await.expect("connects");
        sqlx::query(
            "insert into _sqlx_migrations values(9999, 'later', '2030-01-01', true, x'00', 0)",
        )
        .execute(&mut connection)
        .await
        .expect("inserts");
        connection.close().await.expect("closes");
        for migrate in [Migrate::Yes, Migrate::No] {
            settings.migrate = migrate;
            assert!(matches!(
                Sqlite::open(&settings).await,
                Err(OpenError::Newer)
            ));
        }
    }
}
