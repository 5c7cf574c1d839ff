//! Copies of a database: made while the service runs, and put back while it does not.

use std::{
    fs, io,
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use sqlx::{ConnectOptions as _, Connection as _, Executor as _, migrate::MigrateError};
use sqlx_sqlite::{SqliteConnectOptions, SqliteConnection};
use tokio::time::{MissedTickBehavior, interval};

use super::{
    MIGRATIONS, MODE, header,
    lock::lock,
    pages,
    place::{self, beside},
    writer::{ACTOR_PUT, TENANT_PUT},
};
use crate::clock::Timestamp;
use crate::entity::{ActorKind, Sequence};
use crate::id::TransactionId;
use crate::storage::port::{
    Cause, Copied, CopyError, DatabaseLocation, Newest, Progress, RecordKind, Restored, Settings,
};
use crate::storage::rows::{is_damage, is_foreign};

const INTO: &str = include_str!("sql/copy_into.sql");
const BYTES: &str = include_str!("sql/copy_bytes.sql");
const HAS_VARIABLES: &str = include_str!("sql/copy_has_variables.sql");
const IS_OURS: &str = include_str!("sql/copy_is_ours.sql");
const SKIP: &str = include_str!("sql/copy_skip.sql");
const CHECKPOINT_TRUNCATE: &str = include_str!("sql/checkpoint_truncate.sql");
const NEWEST: &str = include_str!("sql/commit_newest.sql");

/// How many positions are left out after a copy was put back, if the clock says an earlier time than
/// they do. Commits after the copy are lost, and readers of the feed may know their positions.
const SKIPPED: i64 = 1 << 30;

/// How long a copy is looked through for damaged pages before it is used, at most.
const CHECKED: Duration = Duration::from_hours(24);

/// How often progress is reported.
const REPORTED: Duration = Duration::from_millis(200);

/// Copies the database as of one instant, also while a service writes to it.
pub(in crate::storage) async fn back_up(
    settings: &Settings,
    to: &Path,
    progress: Progress<'_>,
) -> Result<Copied, CopyError> {
    let from = file(settings)?;
    check_is_file(from)?;
    if to.is_dir() {
        return Err(unusable(to)(io::ErrorKind::IsADirectory.into()));
    }
    if to.exists() {
        return Err(CopyError::Exists(to.to_owned()));
    }
    let folder = folder_of(to);
    fs::metadata(folder).map_err(unusable(folder))?;
    if is_beside(from, to)? {
        return Err(CopyError::Beside(to.to_owned()));
    }
    let partial = Partial::beside(to)?;
    let copied = copy_in_use(from, &partial, progress).await;
    copied.map_err(|error| naming(to, error))?;
    check_pages(&partial.path, from).await?;
    let newest = newest(&partial.path).await?;
    if to.exists() {
        return Err(CopyError::Exists(to.to_owned()));
    }
    placed(&partial.path, to, newest)
}

/// Copies a database that a service may begin to use meanwhile. While there is no log, it is read
/// without the locks of `SQLite`, for which a file beside it would have to be written; that is right
/// as long as nobody writes to it.
async fn copy_in_use(
    from: &Path,
    partial: &Partial,
    progress: Progress<'_>,
) -> Result<(), CopyError> {
    let before = Version::of(from)?;
    if !has_log(from) {
        let copied = copy(from, Reading::AtRest, &partial.path, progress).await;
        if Version::of(from)? == before {
            return copied;
        }
        partial.remove();
    }
    copy(from, Reading::InUse, &partial.path, progress).await
}

/// What changes when a file is replaced, or written to.
#[derive(PartialEq, Eq)]
struct Version {
    device: u64,
    inode: u64,
    bytes: u64,
    written: SystemTime,
}

impl Version {
    fn of(file: &Path) -> io::Result<Self> {
        let file = fs::metadata(file)?;
        Ok(Self {
            device: file.dev(),
            inode: file.ino(),
            bytes: file.len(),
            written: file.modified()?,
        })
    }
}

/// Whether a path is that of a file which `SQLite` makes beside the database.
fn is_beside(database: &Path, path: &Path) -> io::Result<bool> {
    let database = database.canonicalize()?;
    let path = folder_of(path)
        .canonicalize()?
        .join(path.file_name().unwrap_or_default());
    Ok(["-wal", "-shm", "-journal"].into_iter().any(|end| {
        let mut own = database.clone().into_os_string();
        own.push(end);
        path.as_os_str() == own
    }))
}

/// Puts a copy in the place of the database. What is there is kept under another name; without
/// `replace` it is an error.
pub(in crate::storage) async fn restore(
    settings: &Settings,
    from: &Path,
    replace: bool,
    now: Timestamp,
    progress: Progress<'_>,
) -> Result<Restored, CopyError> {
    let named = file(settings)?;
    check_is_file(from)?;
    let _lock = lock(&settings.place)?;
    // The setting may name a link, and the log is beside the file itself.
    let to = &place::behind_links(named);
    if from.canonicalize()? == *to {
        return Err(CopyError::Same(to.clone()));
    }
    if to.exists() && !replace {
        return Err(CopyError::Replaces(to.clone()));
    }
    let partial = Partial::beside(to)?;
    let copied = copy(from, Reading::of(from), &partial.path, progress).await;
    copied.map_err(|error| naming(to, error))?;
    // One that cannot be read is not asked: what it had come to matters only if the clock went back.
    let replaced = newest(to).await.map_or(0, |newest| newest.sequence.0);
    let prepared = prepare(&partial.path, from, replaced, now).await;
    let (newest, has_variables) = prepared.map_err(|error| naming(to, error))?;
    // A crash before the copy is in its place would leave the old database without what is only in
    // its log. One that cannot be used any more keeps its log.
    let _ = copy_log_back(to).await;
    let kept = put_aside(to, now)?;
    // Before the copy is there, no log of another database is.
    sync_folder_of(to)?;
    Ok(Restored {
        copied: placed(&partial.path, to, newest)?,
        kept,
        has_variables,
    })
}

/// An unfinished copy, of which nothing is left if it is not placed: it is as large as the database.
struct Partial {
    path: PathBuf,
    /// The file of that name is locked, so that no other process writes to the copy.
    lock: PathBuf,
    _locked: fs::File,
}

impl Partial {
    /// One that was interrupted earlier is removed: with its journal, `SQLite` would undo in this one
    /// what it did in that.
    fn beside(to: &Path) -> Result<Self, CopyError> {
        let lock = beside(to, "partial.lock");
        let file = fs::OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(MODE)
            .open(&lock)
            .map_err(unusable(to))?;
        // Where files cannot be locked, nothing keeps others from writing to it.
        if let Err(fs::TryLockError::WouldBlock) = file.try_lock() {
            return Err(CopyError::Written(to.to_owned()));
        }
        let locked = file.metadata()?;
        // The process that had it has removed it, and another one may have made it again.
        let is_there = fs::metadata(&lock)
            .is_ok_and(|found| (found.dev(), found.ino()) == (locked.dev(), locked.ino()));
        if !is_there {
            return Err(CopyError::Written(to.to_owned()));
        }
        let partial = Self {
            path: beside(to, "partial"),
            lock,
            _locked: file,
        };
        partial.remove();
        Ok(partial)
    }

    /// Why a copy is not used matters more than whether it is left.
    fn remove(&self) {
        let _ = fs::remove_file(&self.path);
        let mut journal = self.path.clone().into_os_string();
        journal.push("-journal");
        let _ = fs::remove_file(journal);
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        self.remove();
        let _ = fs::remove_file(&self.lock);
    }
}

/// An error that says which file there was no room for.
pub(super) fn naming(path: &Path, error: CopyError) -> CopyError {
    if let CopyError::Database(failure) = &error
        && failure.cause() == Cause::Full
    {
        return unusable(path)(io::ErrorKind::StorageFull.into());
    }
    error
}

/// Where the database is.
fn file(settings: &Settings) -> Result<&PathBuf, CopyError> {
    match &settings.place {
        DatabaseLocation::File(path) => Ok(path),
        DatabaseLocation::Memory => Err(CopyError::InMemory),
        DatabaseLocation::Server(_) => Err(CopyError::OnServer),
    }
}

/// Fails if there is no file of that name, or it cannot be used.
fn check_is_file(path: &Path) -> Result<(), CopyError> {
    match header::check_kind(path).and_then(|()| fs::File::open(path)) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(CopyError::Absent(path.to_owned()))
        }
        Err(error) => Err(unusable(path)(error)),
    }
}

fn unusable(path: &Path) -> impl FnOnce(io::Error) -> CopyError {
    let path = path.to_owned();
    |source| CopyError::Unusable { path, source }
}

/// Copies what one read sees into a new file.
async fn copy(
    from: &Path,
    reading: Reading,
    to: &Path,
    progress: Progress<'_>,
) -> Result<(), CopyError> {
    let mut source = reading.options(from).connect().await?;
    check_is_ours(from, &mut source).await?;
    if reading == Reading::AtRest {
        check_is_whole(from)?;
    }
    let bytes: i64 = sqlx::query_scalar(BYTES).fetch_one(&mut source).await?;
    let total = u64::try_from(bytes).unwrap_or_default();
    // `SQLite` fills an empty file, too, and says less about one that cannot be made.
    let made = fs::OpenOptions::new()
        .create_new(true)
        .write(true)
        .mode(MODE)
        .open(to);
    made.map_err(unusable(to))?;
    let copied = {
        let target = to.to_string_lossy();
        let copying = sqlx::query(INTO).bind(target.as_ref()).execute(&mut source);
        let mut copying = std::pin::pin!(copying);
        let mut ticks = interval(REPORTED);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        loop {
            tokio::select! {
                copied = &mut copying => break copied,
                _ = ticks.tick() => {
                    let so_far = fs::metadata(to).map_or(0, |file| file.len());
                    progress(so_far.min(total), total);
                }
            }
        }
    };
    copied.map_err(|error| unreadable(from, error))?;
    source.close().await?;
    // A group may be meant to read it. Nobody else is, whoever reads a file of an old release. Its
    // owner writes to it, also if the copy that it is restored from is protected against that.
    let rights = fs::metadata(from)?.permissions().mode();
    fs::set_permissions(to, fs::Permissions::from_mode((rights & 0o770) | MODE))?;
    Ok(())
}

/// Fails if a file is not a database of this service.
pub(super) async fn check_is_ours(
    path: &Path,
    connection: &mut SqliteConnection,
) -> Result<(), CopyError> {
    match sqlx::query_scalar(IS_OURS).fetch_one(connection).await {
        Ok(true) => Ok(()),
        Ok(false) => Err(CopyError::Foreign(path.to_owned())),
        Err(error) if is_damage(&error) => Err(CopyError::Foreign(path.to_owned())),
        Err(error) => Err(error.into()),
    }
}

pub(super) fn unreadable(path: &Path, error: sqlx::Error) -> CopyError {
    if is_foreign(&error) {
        CopyError::Foreign(path.to_owned())
    } else if is_damage(&error) {
        CopyError::Damaged(path.to_owned())
    } else {
        error.into()
    }
}

/// How a database is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// Others may write to it.
    InUse,
    /// Nobody writes to it, so nothing has to be written beside it.
    AtRest,
}

impl Reading {
    fn of(path: &Path) -> Self {
        if has_log(path) {
            Self::InUse
        } else {
            Self::AtRest
        }
    }

    fn options(self, path: &Path) -> SqliteConnectOptions {
        SqliteConnectOptions::new()
            .filename(path)
            .read_only(true)
            .immutable(matches!(self, Self::AtRest))
            .disable_statement_logging()
    }
}

pub(super) fn has_log(database: &Path) -> bool {
    database
        .canonicalize()
        .is_ok_and(|path| place::log_of(&path).exists())
}

/// A database that is only read, by a process that has locked it, or at rest.
pub(super) fn read_only(path: &Path) -> SqliteConnectOptions {
    Reading::of(path).options(path)
}

/// Fails if the end of a database without a log is missing.
fn check_is_whole(path: &Path) -> Result<(), CopyError> {
    match header::cut_off(path)? {
        Some(cut_off) => Err(unusable(path)(io::Error::other(cut_off.to_string()))),
        None => Ok(()),
    }
}

/// Fails if a copy has damaged pages, which it has from the file that it was copied from.
async fn check_pages(copy: &Path, from: &Path) -> Result<(), CopyError> {
    let found = pages::look(&read_only(copy), CHECKED).await?;
    if found.is_damaged() {
        return Err(CopyError::Damaged(from.to_owned()));
    }
    Ok(())
}

async fn newest(path: &Path) -> Result<Newest, CopyError> {
    let mut copy = read_only(path).connect().await?;
    let newest = newest_of(&mut copy).await?;
    copy.close().await?;
    Ok(newest)
}

async fn newest_of(connection: &mut SqliteConnection) -> Result<Newest, CopyError> {
    let newest: Option<(i64, i64)> = sqlx::query_as(NEWEST).fetch_optional(connection).await?;
    let (sequence, at) = newest.unwrap_or_default();
    Ok(Newest {
        sequence: Sequence(sequence),
        at: Timestamp::from_micros(at),
        revision: 0,
    })
}

/// Checks a copy, brings it up to date, and leaves out positions, at least those that the database has
/// used that is replaced; whether bundles have variables.
async fn prepare(
    copy: &Path,
    from: &Path,
    replaced: i64,
    now: Timestamp,
) -> Result<(Newest, bool), CopyError> {
    check_pages(copy, from).await?;
    let mut connection = SqliteConnectOptions::new()
        .filename(copy)
        .disable_statement_logging()
        .connect()
        .await?;
    let newest = newest_of(&mut connection).await?;
    let migrated = MIGRATIONS.run(&mut connection).await;
    migrated.map_err(|error| not_migrated(from, error))?;
    let (tenant, author) = match newest.sequence {
        Sequence(0) => first_author(&mut connection).await?,
        _ => (0, 0),
    };
    sqlx::query(SKIP)
        .bind(SKIPPED)
        .bind(TransactionId::fresh().uuid())
        .bind(now.micros())
        .bind(replaced)
        .bind(tenant)
        .bind(author)
        .execute(&mut connection)
        .await?;
    let has_variables = sqlx::query_scalar(HAS_VARIABLES)
        .bind(RecordKind::Connectors.code())
        .fetch_one(&mut connection)
        .await?;
    connection.close().await?;
    Ok((newest, has_variables))
}

/// Who leaves out positions in a database in which nobody has written yet; with its tenant.
async fn first_author(connection: &mut SqliteConnection) -> Result<(i64, i64), sqlx::Error> {
    let tenant: i64 = sqlx::query_scalar(TENANT_PUT)
        .bind("default-tenant")
        .fetch_one(&mut *connection)
        .await?;
    let author = sqlx::query_scalar(ACTOR_PUT)
        .bind(tenant)
        .bind(ActorKind::System.as_str())
        .bind("system")
        .fetch_one(connection)
        .await?;
    Ok((tenant, author))
}

/// Why a copy could not be brought up to date. One of a newer version has migrations that this one
/// does not know.
pub(super) fn not_migrated(copy: &Path, error: MigrateError) -> CopyError {
    if let MigrateError::VersionMissing(_) = error {
        CopyError::NotOfThisVersion {
            path: copy.to_owned(),
            source: error.into(),
        }
    } else {
        CopyError::Open(error.into())
    }
}

/// Copies the log of a database back into it; the log is removed with the connection.
async fn copy_log_back(database: &Path) -> Result<(), sqlx::Error> {
    let mut connection = SqliteConnectOptions::new()
        .filename(database)
        .disable_statement_logging()
        .connect()
        .await?;
    connection.execute(CHECKPOINT_TRUNCATE).await?;
    connection.close().await
}

/// Gives the database that is there another name, with its log: beside another database, `SQLite`
/// would take that log for its own. One without a log keeps its own name until it is replaced, where
/// files can have two, so that a service that starts meanwhile makes no empty one.
fn put_aside(database: &Path, now: Timestamp) -> io::Result<Option<PathBuf>> {
    let kept = beside(database, &format!("replaced-{}", now.micros()));
    if !place::log_of(database).exists() && fs::hard_link(database, &kept).is_ok() {
        return Ok(Some(kept));
    }
    let is_moved = |from: &Path, to: &Path| match fs::rename(from, to) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    };
    is_moved(&place::log_of(database), &place::log_of(&kept))?;
    Ok(is_moved(database, &kept)?.then_some(kept))
}

/// Gives a finished copy its name, once it is on the disk.
fn placed(partial: &Path, to: &Path, newest: Newest) -> Result<Copied, CopyError> {
    let copy = fs::File::open(partial)?;
    copy.sync_all()?;
    fs::rename(partial, to)?;
    sync_folder_of(to)?;
    Ok(Copied {
        bytes: copy.metadata()?.len(),
        sequence: newest.sequence,
        at: newest.at,
    })
}

fn sync_folder_of(file: &Path) -> io::Result<()> {
    fs::File::open(folder_of(file))?.sync_all()
}

fn folder_of(file: &Path) -> &Path {
    let folder = file
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or_else(|| Path::new("."))
}

#[cfg(test)]
mod tests {
    use std::sync::Once;

    use super::*;
    use crate::storage::sqlite::{Sqlite, tests::settings};

    #[tokio::test]
    async fn a_copy_during_which_a_service_starts_and_stops_is_made_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("interlock.db");
        let settings = settings(DatabaseLocation::File(file.clone()));
        Sqlite::migrate(&settings).await.expect("migrates");
        let serving = Once::new();
        let progress = |_, _| {
            serving.call_once(|| {
                // It makes a log, and copies it back when it is closed.
                let service = rusqlite::Connection::open(&file).expect("opens");
                let write = service.execute_batch("create table later(i integer)");
                write.expect("writes");
            });
        };
        let to = folder.path().join("copy.db");
        back_up(&settings, &to, &progress).await.expect("copied");
        assert!(serving.is_completed());
        let copy = rusqlite::Connection::open(&to).expect("opens");
        let read = copy.execute_batch("select * from later");
        read.expect("a copy of the database after the write");
    }

    /// A folder with an empty database, and a backup of it.
    async fn backed_up() -> (tempfile::TempDir, Settings, PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        let settings = settings(DatabaseLocation::File(folder.path().join("interlock.db")));
        Sqlite::migrate(&settings).await.expect("migrates");
        let copy = folder.path().join("copy.db");
        let copied = back_up(&settings, &copy, &|_, _| {}).await;
        copied.expect("copied");
        (folder, settings, copy)
    }

    #[tokio::test]
    async fn a_protected_backup_without_commits_is_restored_to_be_written() {
        let (folder, settings, copy) = backed_up().await;
        fs::set_permissions(&copy, fs::Permissions::from_mode(0o440)).expect("protected");
        let now = Timestamp::from_micros(1_000);
        let restored = restore(&settings, &copy, true, now, &|_, _| {}).await;
        restored.expect("restored");
        let database = folder.path().join("interlock.db");
        let mode = fs::metadata(&database).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
        // The positions before are left out.
        let newest = newest(&database).await.expect("readable");
        assert_eq!(newest.sequence, Sequence(1_000));
    }

    #[tokio::test]
    async fn a_restore_through_a_link_to_nothing_makes_the_file_that_it_names() {
        let (folder, settings, copy) = backed_up().await;
        let (named, meant) = (
            folder.path().join("interlock.db"),
            folder.path().join("x.db"),
        );
        fs::remove_file(&named).expect("removed");
        std::os::unix::fs::symlink("x.db", &named).expect("a link");
        let now = Timestamp::from_micros(1_000);
        let restored = restore(&settings, &copy, false, now, &|_, _| {}).await;
        assert_eq!(restored.expect("restored").kept, None);
        assert!(meant.is_file() && named.is_symlink());
    }

    #[tokio::test]
    async fn a_database_keeps_its_name_until_it_is_replaced() {
        let (folder, _, _) = backed_up().await;
        let database = folder.path().join("interlock.db");
        let kept = put_aside(&database, Timestamp::from_micros(1)).expect("a second name");
        let inode = |path: &Path| fs::metadata(path).expect("there").ino();
        assert_eq!(inode(&kept.expect("kept")), inode(&database));
    }
}
