//! The `database` connector: rows of `SQLite`, `PostgreSQL` and `MySQL` (`orchestration.md` 2.3).
//!
//! Values are bound, names are checked and quoted; nothing of a request is in the text of a
//! statement. JSON and columns correspond as follows.
//!
//! | JSON | `SQLite` | `PostgreSQL` | `MySQL` |
//! |---|---|---|---|
//! | integer | integer, exact; text beyond 64 bits | the column's type, exact | integer, exact |
//! | decimal | real if that is exact, else text | the column's type, exact | decimal, exact |
//! | true, false | 1, 0 | the column's type | 1, 0 |
//! | text | text | the column's type, read from the text | the column's type |
//! | list, object | its text | `json`, `jsonb`, arrays, or text | its text, or `json` |
//!
//! A column of `SQLite` whose declared type is numeric converts such a text to a number. A write
//! that rounds it is rejected.
//!
//! Back, bytes are text in base64 (`PostgreSQL`: `\x` and hexadecimal digits), times are text as in
//! RFC 3339, and what is JSON in the database is JSON.

mod files;
mod frames;
mod link;
mod mirror;
mod mysql;
mod plan;
mod postgres;
mod query;
mod relay;
mod server;
mod sqlite;
mod statement;
mod transition;
mod value;

use std::{
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use tokio::time::{Instant, timeout};

use super::{CallFailed, Database, Driver, Request, Settings, Trust};
use crate::backoff::Backoff;
use crate::expr::quoted;
use crate::id::Tenant;
use crate::text;

use files::File;
use link::{Done, Fault, Link, too_large, unsettled};
use plan::{Computed, Plan, ROW, TABLE, Write, returning};
use server::Server;
use statement::{Dialect, Statement};
use value::Value;

pub use mirror::MirrorRow;
pub use transition::RowTransaction;

/// Evaluates an expression: its text, the values it may use besides the row, and the row, both as
/// JSON objects; the result is JSON.
pub type Compute<'a> = dyn Fn(&str, &str, &str) -> Result<String, String> + Send + Sync + 'a;

/// How long an idle connection is kept.
const IDLE_MAX: Duration = Duration::from_secs(30);

/// A connection to a server that was idle for less is not asked whether it still works.
const TRUSTED_FOR: Duration = Duration::from_secs(1);

/// How much longer than one more time limit a commit is waited for: the server may take the whole
/// limit for the commit alone.
const COMMIT_MORE: Duration = Duration::from_secs(5);

/// The pauses while another connection holds a lock.
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(1), Duration::from_millis(50));

/// How many rows one statement may compute values for.
const COMPUTED_ROWS_MAX: usize = 1_000;

/// How much of an operation and of a target is in a message, in bytes.
const SHOWN_BYTES: usize = 100;

/// One database, and the connections to it that are idle. How many there are in use is bounded by
/// the turns of the connector.
#[derive(Debug)]
pub(super) struct Databases {
    place: DatabaseAddress,
    /// A mutex, not a task: held to push or pop one element.
    idle: Mutex<Vec<(Link, Instant)>>,
}

/// Where a database is.
#[derive(Debug)]
enum DatabaseAddress {
    File(File),
    Postgres(Arc<Server>),
    Mysql(Arc<Server>),
}

/// Checks a configuration without contacting anything.
pub(super) fn check(
    tenant: &Tenant,
    config: &Database,
    trust: Trust,
    settings: &Settings,
) -> Result<(), String> {
    DatabaseAddress::of(tenant, config, trust, settings).map(|_| ())
}

impl DatabaseAddress {
    fn of(
        tenant: &Tenant,
        config: &Database,
        trust: Trust,
        settings: &Settings,
    ) -> Result<Self, String> {
        match config.driver {
            Driver::Sqlite => File::new(tenant, &config.database, trust, settings).map(Self::File),
            Driver::Postgres => Server::new(config, 5432, trust, settings)
                .map(|server| Self::Postgres(Arc::new(server))),
            Driver::Mysql => Server::new(config, 3306, trust, settings)
                .map(|server| Self::Mysql(Arc::new(server))),
        }
    }

    const fn dialect(&self) -> Dialect {
        match self {
            Self::File(_) => Dialect::Sqlite,
            Self::Postgres(_) => Dialect::Postgres,
            Self::Mysql(_) => Dialect::Mysql,
        }
    }

    /// Whether it takes time to ask if a connection still works.
    const fn is_server(&self) -> bool {
        match self {
            Self::File(_) => false,
            Self::Postgres(_) | Self::Mysql(_) => true,
        }
    }

    async fn connect(&self) -> Result<Link, Fault> {
        match self {
            Self::File(file) => {
                let path = file.place().map_err(Fault::Refused)?;
                Ok(Link::Sqlite(Box::new(sqlite::Link::open(&path).await?)))
            }
            Self::Postgres(server) => Ok(Link::Postgres(Box::new(
                postgres::Link::open(server).await?,
            ))),
            Self::Mysql(server) => Ok(Link::Mysql(Box::new(mysql::Link::open(server).await?))),
        }
    }
}

impl Databases {
    pub(super) fn new(
        tenant: &Tenant,
        config: &Database,
        trust: Trust,
        settings: &Settings,
    ) -> Result<Self, String> {
        Ok(Self {
            place: DatabaseAddress::of(tenant, config, trust, settings)?,
            idle: Mutex::default(),
        })
    }

    /// Executes a request within a time limit. If the limit ends before the commit, nothing is
    /// changed: only a commit makes a write permanent, and a transaction ends with its connection.
    /// A commit is waited for longer, since only its answer has the row that was written.
    pub(super) async fn call_within(
        &self,
        request: &Request<'_>,
        compute: &Compute<'_>,
        limit: Duration,
    ) -> Result<Arc<str>, CallFailed> {
        let is_committing = AtomicBool::new(false);
        let mut work = pin!(self.called(request, compute, &is_committing));
        for wait in [limit, limit.saturating_add(COMMIT_MORE)] {
            if let Ok(done) = timeout(wait, &mut work).await {
                return done;
            }
            if !is_committing.load(Ordering::Relaxed) {
                return Err(CallFailed::NothingDone(limit));
            }
        }
        let reason = "no answer came in time".to_owned();
        Err(failed(request, Fault::Unsettled(reason)))
    }

    /// Executes a request.
    pub(super) async fn call(
        &self,
        request: &Request<'_>,
        compute: &Compute<'_>,
    ) -> Result<Arc<str>, CallFailed> {
        let is_committing = AtomicBool::new(false);
        self.called(request, compute, &is_committing).await
    }

    /// Executes a request, and sets `is_committing` while a commit has no answer.
    async fn called(
        &self,
        request: &Request<'_>,
        compute: &Compute<'_>,
        is_committing: &AtomicBool,
    ) -> Result<Arc<str>, CallFailed> {
        let plan =
            Plan::of(request, self.place.dialect()).map_err(|reason| named(request, &reason))?;
        let mut backoff = BACKOFF;
        let mut was_taken = false;
        loop {
            match self.tried(&plan, compute, is_committing).await {
                Ok(result) => return Ok(result.into()),
                // It may have been inserted since it was looked for.
                Err(Fault::Taken(_)) if plan.is_either() && !was_taken => was_taken = true,
                Err(Fault::Busy) => backoff.wait().await,
                Err(fault) => return Err(failed(request, fault)),
            }
        }
    }

    async fn tried(
        &self,
        plan: &Plan,
        compute: &Compute<'_>,
        is_committing: &AtomicBool,
    ) -> Result<String, Fault> {
        match plan {
            Plan::Read(statement) => self.read(statement).await,
            Plan::Write(_) | Plan::Computed(_) => {
                self.within_transaction(plan, compute, is_committing).await
            }
        }
    }

    async fn read(&self, statement: &Statement) -> Result<String, Fault> {
        loop {
            let (mut link, was_kept) = self.link().await?;
            // `WITH …` may begin a statement that writes.
            let done = if statement.is_foreign {
                link.read(statement).await
            } else {
                link.run(statement).await
            };
            if done.as_ref().err().is_none_or(Fault::leaves_link) {
                self.keep(link);
            }
            match done {
                // One that was kept has ended since, and a read changes nothing.
                Err(Fault::Gone(_)) if was_kept => {}
                done => return done.map(read),
            }
        }
    }

    /// Executes a plan and commits it, or rolls back.
    async fn within_transaction(
        &self,
        plan: &Plan,
        compute: &Compute<'_>,
        is_committing: &AtomicBool,
    ) -> Result<String, Fault> {
        let mut link = self.begun().await?;
        let done = match execute(&mut link, plan, compute).await {
            Ok(done) => {
                is_committing.store(true, Ordering::Relaxed);
                let committed = link.commit().await;
                is_committing.store(false, Ordering::Relaxed);
                committed.map(|()| done)
            }
            Err(fault) => Err(fault),
        };
        // Closing the connection rolls back, too.
        let is_usable = match &done {
            Ok(_) => true,
            Err(fault) => fault.leaves_link() && link.roll_back().await.is_ok(),
        };
        if is_usable {
            self.keep(link);
        }
        done
    }

    /// A connection with an open transaction.
    async fn begun(&self) -> Result<Link, Fault> {
        loop {
            let (mut link, was_kept) = self.link().await?;
            match link.begin().await {
                Ok(()) => return Ok(link),
                // One that was kept has ended since, and nothing was sent.
                Err(Fault::Gone(_)) if was_kept => {}
                Err(fault) => {
                    if fault.leaves_link() {
                        self.keep(link);
                    }
                    return Err(fault);
                }
            }
        }
    }

    /// Executes statements together, and again while the database is locked.
    async fn write_together(&self, statements: Vec<Statement>) -> Result<(), Fault> {
        let plan = Plan::Write(Write {
            statements,
            is_of_one: false,
            is_either: false,
        });
        let nothing = |_: &str, _: &str, _: &str| Err("nothing is computed".to_owned());
        let is_committing = AtomicBool::new(false);
        let mut backoff = BACKOFF;
        loop {
            match self.tried(&plan, &nothing, &is_committing).await {
                Err(Fault::Busy) => backoff.wait().await,
                done => return done.map(|_| ()),
            }
        }
    }

    /// A connection, and whether it was kept: then it may have ended since.
    async fn link(&self) -> Result<(Link, bool), Fault> {
        loop {
            let Some((mut link, since)) = self.idle.lock().pop() else {
                return Ok((self.place.connect().await?, false));
            };
            let is_trusted = self.place.is_server() && since.elapsed() < TRUSTED_FOR;
            if is_trusted || link.is_alive().await {
                return Ok((link, true));
            }
        }
    }

    fn keep(&self, link: Link) {
        if link.is_worn() {
            return;
        }
        self.idle.lock().push((link, Instant::now()));
    }

    /// Closes connections that have been idle for too long.
    pub(super) fn close_idle(&self) {
        let mut old = Vec::new();
        {
            let mut idle = self.idle.lock();
            // The first have been idle for the longest.
            let is_old = |(_, since): &(Link, Instant)| since.elapsed() >= IDLE_MAX;
            let count = idle.iter().take_while(|idle| is_old(idle)).count();
            old.extend(idle.drain(..count));
        }
        drop(old);
    }
}

/// A failure of a request, which its operation and target name.
fn named(request: &Request<'_>, reason: &str) -> CallFailed {
    CallFailed::failed(described(request, reason))
}

fn described(request: &Request<'_>, reason: &str) -> String {
    let operation = text::start(request.operation.trim(), SHOWN_BYTES);
    match &request.target {
        Some(target) => format!("{operation} {}: {reason}", text::start(target, SHOWN_BYTES)),
        None => format!("{operation}: {reason}"),
    }
}

fn failed(request: &Request<'_>, fault: Fault) -> CallFailed {
    match fault {
        Fault::Refused(reason) | Fault::Taken(reason) | Fault::Unfit(reason) => {
            named(request, &reason)
        }
        Fault::TooLarge => named(request, &too_large()),
        // It is undone rather than left or done twice.
        Fault::Unsettled(reason) => CallFailed::Unusable {
            message: described(request, &unsettled(&reason)),
        },
        Fault::Gone(reason) => CallFailed::Unavailable {
            message: described(request, &reason),
        },
        Fault::Busy => CallFailed::Unavailable {
            message: described(request, "the database is locked"),
        },
    }
}

async fn execute(link: &mut Link, plan: &Plan, compute: &Compute<'_>) -> Result<String, Fault> {
    match plan {
        Plan::Read(statement) => Ok(read(link.run(statement).await?)),
        Plan::Write(write) => {
            let mut first: Option<Done> = None;
            let mut affected = 0;
            for statement in &write.statements {
                let done = link.run(statement).await?;
                affected += done.affected;
                if write.is_either && done.affected == 0 {
                    continue;
                }
                first.get_or_insert(done);
                if write.is_either {
                    break;
                }
            }
            check_one(write.is_of_one, affected)?;
            Ok(written(first.unwrap_or_default(), affected))
        }
        Plan::Computed(computed) => compute_and_update(link, computed, compute).await,
    }
}

/// The row that was read, or a list of them.
fn read(done: Done) -> String {
    let mut rows = done.rows.all;
    if rows.len() == 1 {
        return rows.remove(0);
    }
    format!("[{}]", rows.join(","))
}

fn check_one(is_of_one: bool, affected: u64) -> Result<(), Fault> {
    if is_of_one && affected > 1 {
        return Err(Fault::Refused(format!("it would change {affected} rows")));
    }
    Ok(())
}

/// The first row that was written, or how many there were.
fn written(done: Done, affected: u64) -> String {
    if let Some(row) = done.rows.all.into_iter().next() {
        return row;
    }
    let id = done.id.filter(|_| affected > 0);
    let id = id.map_or_else(|| "null".to_owned(), |id| id.to_string());
    format!("{{\"affected\":{affected},\"id\":{id}}}")
}

async fn compute_and_update(
    link: &mut Link,
    computed: &Computed,
    compute: &Compute<'_>,
) -> Result<String, Fault> {
    let rows = link.run(&computed.select).await?.rows.all;
    check_one(computed.is_of_one, rows.len() as u64)?;
    if rows.len() > COMPUTED_ROWS_MAX {
        return Err(Fault::Refused(format!(
            "values are computed for at most {COMPUTED_ROWS_MAX} rows; `where` selects {}",
            rows.len()
        )));
    }
    let (mut first, mut affected) = (None, 0);
    for row in &rows {
        let statement = updating(computed, row, rows.len(), compute).map_err(Fault::Refused)?;
        let done = link.run(&statement).await?;
        affected += done.affected;
        first.get_or_insert(done);
    }
    Ok(written(first.unwrap_or_default(), affected))
}

/// The update of one of these rows.
fn updating(
    computed: &Computed,
    row: &str,
    count: usize,
    compute: &Compute<'_>,
) -> Result<Statement, String> {
    let mut members = crate::expr::members(row).unwrap_or_default();
    let place = members
        .shift_remove(ROW)
        .map(|place| Value::of(place.get()));
    let table = members
        .shift_remove(TABLE)
        .map(|table| Value::of(table.get()));
    let visible = members
        .iter()
        .map(|(name, value)| format!("{}:{}", quoted(name), value.get()));
    let visible = format!("{{{}}}", visible.collect::<Vec<_>>().join(","));
    let mut statement = computed.begun.clone();
    let mut sign = "";
    for column in &computed.columns {
        let value = compute(&column.expression, &column.values, &visible)?;
        statement.sql(sign).column(&column.name)?.sql(" = ");
        statement.stored(&column.name, Value::of(&value));
        sign = ", ";
    }
    match (place, statement.dialect()) {
        (Some(place), Dialect::Postgres) => {
            statement.sql(" WHERE ctid = ").value(place);
            if let Some(table) = table {
                statement.sql(" AND tableoid = ").value(table);
            }
        }
        (Some(place), Dialect::Sqlite) => {
            if members
                .keys()
                .any(|name| name.eq_ignore_ascii_case("_rowid_"))
            {
                return Err("the column `_rowid_` hides the places of the rows".to_owned());
            }
            statement.sql(" WHERE _rowid_ = ").value(place);
        }
        _ if count > 1 => {
            return Err("values can be computed for one row only; `where` selects more".to_owned());
        }
        _ => {
            statement.append(&computed.filter);
        }
    }
    Ok(returning(statement))
}
