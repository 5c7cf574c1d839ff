//! Connectors to other systems: HTTP servers, databases and mail servers (`orchestration.md` 2.3).
//!
//! May use: [`crate::backoff`], [`crate::entity`], [`crate::expr`], [`crate::id`], [`crate::json`],
//! [`crate::outgoing`], [`crate::shares`], [`crate::telemetry`], [`crate::text`].
//! Must not: show a secret, or hold a thread while it waits.
//! A connector has a bounded number of calls out, and so has a tenant: a system that hangs delays
//! the calls to it, and no others. What is out is abandoned at its deadline or when it is
//! cancelled, and its connection is closed.

mod check;
mod config;
pub mod database;
mod email;
mod http;
mod request;
mod scrub;

use std::{
    collections::HashMap,
    fmt,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures_util::FutureExt as _;
use parking_lot::Mutex;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, MissedTickBehavior, interval, timeout},
};
use tokio_util::sync::CancellationToken;

use crate::entity::{DEPTH_MAX, is_too_deep};
use crate::id::Tenant;
use crate::outgoing::Reach;
use crate::shares::Shares;
use crate::telemetry::measure::{ConnectorResult, connector_called};

pub use check::Wrong;
pub use config::{
    Config, Database, DatabaseTls, Driver, Email, Http, HttpAuth, Retry, Secret, SmtpTls,
};
pub use database::{Compute, MirrorRow, RowTransaction};

use database::Databases;
use request::Request;
use scrub::Scrub;

/// The largest result of a call, in bytes.
const RESULT_BYTES_MAX: usize = 1 << 20;

/// How many calls of one tenant are out at once, to all of its connectors.
const OUT_PER_TENANT: usize = 64;

/// How long a connector that nobody calls keeps its connections.
const IDLE_MAX: Duration = Duration::from_secs(30);

/// How often idle connections are looked for.
const TEND_INTERVAL: Duration = Duration::from_secs(5);

/// Settings of all connectors (`runs.md` §9).
#[derive(Debug, Clone)]
pub struct Settings {
    /// Whether uploaded connectors may reach this machine and private networks.
    pub private_networks: bool,
    /// The files that uploaded connectors may have.
    pub files: Files,
    /// The time limit of a call (over HTTP, of each attempt), where its connector has none.
    pub timeout: Duration,
    /// How many calls of one connector are out at once, and how many connections it has.
    pub connections_max: usize,
    /// Files of this service, which are never a connector's.
    pub own_files: Vec<PathBuf>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            private_networks: false,
            files: Files::Nowhere,
            timeout: Duration::from_secs(30),
            connections_max: 5,
            own_files: Vec::new(),
        }
    }
}

/// Where the `SQLite` files of uploaded connectors may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Files {
    Anywhere,
    /// In the folder of the tenant below this one.
    Below(PathBuf),
    Nowhere,
}

/// Who has configured a connector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Trust {
    /// The operator of this service, whom no setting limits.
    Operator,
    /// A tenant.
    Uploaded,
}

/// A connector with its configuration.
#[derive(Debug)]
pub struct Connector {
    pub name: Box<str>,
    /// What names this configuration among those of the tenant: another one has another key.
    pub key: Box<str>,
    pub config: Config,
    /// The values of `env()` in it, which no message has.
    pub values: Vec<Secret>,
    pub trust: Trust,
}

/// A call of a connector.
pub struct Call<'a> {
    pub tenant: &'a Tenant,
    pub connector: &'a Connector,
    /// A JSON object: `operation`, `target`, `payload`, `set`, `where`, `params`, `query`,
    /// `template`, `to`.
    pub request: &'a str,
    /// The same for all tries of one call.
    pub idempotency_key: &'a str,
    /// The call may have been sent before: only an answer about the request itself says that it was
    /// not done.
    pub is_repeated: bool,
    /// The time limit of the whole, waiting for a free connection included.
    pub timeout: Duration,
    pub cancel: &'a CancellationToken,
    /// Nobody waits for the call any more: it is not sent if it still waits for a connection, and
    /// goes on otherwise.
    pub given_up: &'a CancellationToken,
    /// Evaluates an expression over a row (`{"$compute"}` in `set`).
    pub compute: &'a Compute<'a>,
}

impl fmt::Debug for Call<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("tenant", &self.tenant)
            .field("connector", &self.connector.name)
            .finish_non_exhaustive()
    }
}

/// Why a call has no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallFailed {
    /// The other system has refused, or the request makes no sense.
    #[error("{message}")]
    Failed {
        message: String,
        /// What the other system has answered: JSON.
        output: Option<Arc<str>>,
    },
    /// The other system cannot be reached.
    #[error("{message}")]
    Unavailable { message: String },
    /// The request was sent and there was no answer: the call may have had an effect.
    #[error("{message}")]
    Lost { message: String },
    /// The call has had its effect, or may have, and no answer can be stored: it is to be undone.
    #[error("{message}")]
    Unusable { message: String },
    /// The call may have had an effect.
    #[error("no answer within {0:?}")]
    TimedOut(Duration),
    /// The time limit has ended before anything was changed.
    #[error("no answer within {0:?}; nothing was changed")]
    NothingDone(Duration),
    #[error("the call was cancelled")]
    Cancelled,
    #[error("the call was given up before it was sent")]
    NotSent,
}

impl CallFailed {
    fn failed(message: impl Into<String>) -> Self {
        Self::Failed {
            message: message.into(),
            output: None,
        }
    }

    const fn result(&self) -> ConnectorResult {
        match self {
            Self::Failed { .. } | Self::Unusable { .. } => ConnectorResult::Failed,
            Self::Unavailable { .. } | Self::Lost { .. } => ConnectorResult::Unavailable,
            Self::TimedOut(_) | Self::NothingDone(_) => ConnectorResult::TimedOut,
            Self::Cancelled | Self::NotSent => ConnectorResult::Cancelled,
        }
    }
}

/// All connectors that are in use. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Connectors(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    settings: Settings,
    /// A mutex, not a task: held for a look-up.
    open: Mutex<HashMap<Key, Arc<Open>>>,
    tenants: Shares<Tenant>,
}

type Key = (Tenant, Box<str>, Use);

/// What connections are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Use {
    Calls,
    /// A table that shows runs.
    Mirror,
}

/// A connector in use.
#[derive(Debug)]
struct Open {
    outside: Outside,
    turns: Arc<Semaphore>,
    scrub: Scrub,
    /// When it was last called.
    used: Mutex<Instant>,
}

/// The other system.
#[derive(Debug)]
enum Outside {
    Http(http::Server),
    Database(Arc<Databases>),
    Email(email::Server),
}

/// The right to have one more call out.
#[derive(Debug)]
struct CallPermit {
    _of_connector: OwnedSemaphorePermit,
    _of_tenant: OwnedSemaphorePermit,
}

/// A permit and its connector, for as long as a transaction is open.
#[derive(Debug)]
pub(crate) struct Held {
    open: Arc<Open>,
    /// The database of `open`.
    database: Arc<Databases>,
    _permit: Option<CallPermit>,
}

impl Held {
    fn database(&self) -> &Databases {
        &self.database
    }

    fn scrub(&self) -> &Scrub {
        &self.open.scrub
    }
}

/// A row of a table whose state is to move on.
#[derive(Debug)]
pub struct RowCall<'a> {
    pub tenant: &'a Tenant,
    pub connector: &'a Connector,
    pub table: &'a str,
    /// The value of its column `id`: JSON.
    pub id: &'a str,
    /// The time limit until it is read.
    pub timeout: Duration,
    pub cancel: &'a CancellationToken,
}

/// The table that shows runs to readers outside.
#[derive(Debug)]
pub struct MirrorTable<'a> {
    pub tenant: &'a Tenant,
    pub connector: &'a Connector,
    pub table: &'a str,
    pub timeout: Duration,
    pub cancel: &'a CancellationToken,
}

impl Connectors {
    pub fn new(settings: Settings) -> Self {
        Self(Arc::new(Inner {
            settings,
            open: Mutex::default(),
            tenants: Shares::new(OUT_PER_TENANT),
        }))
    }

    pub fn settings(&self) -> &Settings {
        &self.0.settings
    }

    /// Checks a configuration without contacting anything.
    ///
    /// # Errors
    /// What is wrong with it, or not allowed by the settings.
    pub fn check(
        tenant: &Tenant,
        config: &Config,
        trust: Trust,
        settings: &Settings,
    ) -> Result<(), Vec<Wrong>> {
        check::check(tenant, config, trust, settings)
    }

    /// Calls a connector and returns its JSON result.
    ///
    /// # Errors
    /// It has failed, is not reachable, has not answered in time, or was cancelled.
    pub async fn call(&self, call: Call<'_>) -> Result<Arc<str>, CallFailed> {
        let begun = Instant::now();
        let is_sent = AtomicBool::new(false);
        let work = self.bounded(call.timeout, call.cancel, self.called(&call, &is_sent));
        let done = tokio::select! {
            biased;
            () = given_up_unsent(call.given_up, &is_sent) => Err(CallFailed::NotSent),
            done = work => done,
        };
        let result = done
            .as_ref()
            .map_or_else(CallFailed::result, |_| ConnectorResult::Success);
        connector_called(call.connector.config.kind(), begun.into_std(), result);
        done
    }

    async fn called(&self, call: &Call<'_>, is_sent: &AtomicBool) -> Result<Arc<str>, CallFailed> {
        let open = self.open(call.tenant, call.connector, Use::Calls)?;
        let done = self.asked(call, &open, is_sent).await;
        match done {
            Ok(result) if is_too_deep(&result) => Err(CallFailed::Unusable {
                message: format!("the result is nested deeper than {DEPTH_MAX} levels"),
            }),
            Ok(result) => Ok(open.scrub.result(result)),
            Err(failure) => Err(open.scrub.failure(failure)),
        }
    }

    async fn asked(
        &self,
        call: &Call<'_>,
        open: &Open,
        is_sent: &AtomicBool,
    ) -> Result<Arc<str>, CallFailed> {
        let request = Request::parse(call.request).map_err(CallFailed::failed)?;
        let _permit = self.permit(call.tenant, open).await;
        let own = call.connector.config.timeout();
        let limit = own.unwrap_or(self.0.settings.timeout);
        let key = call.idempotency_key;
        match &open.outside {
            Outside::Http(server) => {
                let key = http::Key {
                    text: key,
                    was_sent: call.is_repeated,
                };
                server.call(&request, key, limit, is_sent).await
            }
            Outside::Database(database) => {
                is_sent.store(true, Ordering::Relaxed);
                let done = database.call_within(&request, call.compute, limit).await;
                match done {
                    // An earlier one may have changed something.
                    Err(CallFailed::NothingDone(limit)) if call.is_repeated => {
                        Err(CallFailed::TimedOut(limit))
                    }
                    done => done,
                }
            }
            Outside::Email(server) => {
                is_sent.store(true, Ordering::Relaxed);
                limited(limit, server.call(&request, key)).await
            }
        }
    }

    /// Reads a row of a database in a transaction that locks it, and stays open until it is
    /// finished or dropped.
    ///
    /// # Errors
    /// Those of [`Self::call`].
    pub async fn row(&self, call: RowCall<'_>) -> Result<RowTransaction, CallFailed> {
        let opened = async {
            let held = self.held(call.tenant, call.connector).await?;
            let database = Arc::clone(&held.database);
            let open = Arc::clone(&held.open);
            let row = database.open_row(call.table, call.id, held).await;
            row.map_err(|failure| open.scrub.failure(failure))
        };
        self.bounded(call.timeout, call.cancel, opened).await
    }

    /// Makes the table that shows runs, and its indexes, if they are missing.
    ///
    /// # Errors
    /// Those of [`Self::call`].
    pub async fn make_mirror(&self, mirror: MirrorTable<'_>) -> Result<(), CallFailed> {
        let made = async {
            let (open, database) = self.mirror_of(&mirror)?;
            let made = database.make_mirror(mirror.table).await;
            made.map_err(|failure| open.scrub.failure(failure))
        };
        self.bounded(mirror.timeout, mirror.cancel, made).await
    }

    /// Writes a run into that table; with `creates`, the table is made if it is missing.
    ///
    /// # Errors
    /// Those of [`Self::call`].
    pub async fn mirror(
        &self,
        mirror: MirrorTable<'_>,
        creates: bool,
        row: &MirrorRow<'_>,
    ) -> Result<(), CallFailed> {
        let written = async {
            let (open, database) = self.mirror_of(&mirror)?;
            let written = database.mirror(mirror.table, creates, row).await;
            written.map_err(|failure| open.scrub.failure(failure))
        };
        self.bounded(mirror.timeout, mirror.cancel, written).await
    }

    /// The database of a table that shows runs. Its connections are not those of the calls, so
    /// that no call waits for it; how many are in use is up to those who write the table.
    fn mirror_of(
        &self,
        mirror: &MirrorTable<'_>,
    ) -> Result<(Arc<Open>, Arc<Databases>), CallFailed> {
        let open = self.open(mirror.tenant, mirror.connector, Use::Mirror)?;
        let database = open.database(mirror.connector)?;
        Ok((open, database))
    }

    /// A turn of a connector that is a database.
    async fn held(&self, tenant: &Tenant, connector: &Connector) -> Result<Held, CallFailed> {
        let open = self.open(tenant, connector, Use::Calls)?;
        Ok(Held {
            database: open.database(connector)?,
            _permit: self.permit(tenant, &open).await,
            open,
        })
    }

    /// Waits for work until its time limit, or until it is cancelled.
    async fn bounded<T>(
        &self,
        limit: Duration,
        cancel: &CancellationToken,
        work: impl Future<Output = Result<T, CallFailed>>,
    ) -> Result<T, CallFailed> {
        if cancel.is_cancelled() {
            return Err(CallFailed::Cancelled);
        }
        tokio::select! {
            biased;
            done = limited(limit, work) => done,
            () = cancel.cancelled() => Err(CallFailed::Cancelled),
        }
    }

    /// Waits for a turn: first one of the connector, so that those who wait for a slow one do not
    /// have the turns of their tenant.
    async fn permit(&self, tenant: &Tenant, open: &Open) -> Option<CallPermit> {
        let of_tenant = self.0.tenants.of(tenant.clone());
        // They are never closed.
        Some(CallPermit {
            _of_connector: Arc::clone(&open.turns).acquire_owned().await.ok()?,
            _of_tenant: of_tenant.acquire_owned().await.ok()?,
        })
    }

    fn open(
        &self,
        tenant: &Tenant,
        connector: &Connector,
        used: Use,
    ) -> Result<Arc<Open>, CallFailed> {
        let key = (tenant.clone(), connector.key.clone(), used);
        let mut all = self.0.open.lock();
        if let Some(open) = all.get(&key) {
            *open.used.lock() = Instant::now();
            return Ok(Arc::clone(open));
        }
        let open = Arc::new(self.made(tenant, connector)?);
        all.insert(key, Arc::clone(&open));
        Ok(open)
    }

    fn made(&self, tenant: &Tenant, connector: &Connector) -> Result<Open, CallFailed> {
        let settings = &self.0.settings;
        let (name, trust) = (&connector.name, connector.trust);
        let unusable = |reason: String| CallFailed::failed(format!("connector `{name}`: {reason}"));
        let reach = settings.reach(trust);
        let mut connections = settings.connections_max;
        let outside = match &connector.config {
            Config::Http(http) => {
                Outside::Http(http::Server::new(http, reach, trust, connections).map_err(unusable)?)
            }
            Config::Database(database) => {
                connections = database
                    .max_connections
                    .unwrap_or(connections)
                    .min(connections);
                let database = Databases::new(tenant, database, trust, settings);
                Outside::Database(Arc::new(database.map_err(unusable)?))
            }
            Config::Email(email) => {
                Outside::Email(email::Server::new(email, reach, trust).map_err(unusable)?)
            }
            Config::Rest => return Err(unusable("it is a server and cannot be called".to_owned())),
            Config::Entity | Config::Member => {
                return Err(unusable("it is not served by this module".to_owned()));
            }
        };
        Ok(Open {
            outside,
            turns: Arc::new(Semaphore::new(connections.max(1))),
            scrub: Scrub::new(connector),
            used: Mutex::new(Instant::now()),
        })
    }

    /// Closes idle connections, until the service stops.
    pub async fn keep(self, stop: CancellationToken) {
        let mut ticks = interval(TEND_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                _ = ticks.tick() => self.close_idle(),
            }
        }
    }

    /// Closes connections that have been idle for too long.
    pub fn close_idle(&self) {
        let mut idle = Vec::new();
        self.0.open.lock().retain(|_, open| {
            let is_out = Arc::strong_count(open) > 1;
            let is_kept = is_out || open.used.lock().elapsed() < IDLE_MAX;
            if is_kept {
                open.close_idle();
            } else {
                idle.push(Arc::clone(open));
            }
            is_kept
        });
        // Connections are closed without the lock.
        drop(idle);
    }
}

impl Open {
    fn database(&self, connector: &Connector) -> Result<Arc<Databases>, CallFailed> {
        match &self.outside {
            Outside::Database(database) => Ok(Arc::clone(database)),
            Outside::Http(_) | Outside::Email(_) => {
                let message = format!("connector `{}`: it is not a database", connector.name);
                Err(CallFailed::failed(message))
            }
        }
    }

    fn close_idle(&self) {
        match &self.outside {
            Outside::Http(server) => server.close_idle(),
            Outside::Database(database) => database.close_idle(),
            Outside::Email(_) => {}
        }
    }
}

impl Settings {
    /// What a connector may contact.
    pub(crate) fn reach(&self, trust: Trust) -> Reach {
        if trust == Trust::Operator || self.private_networks {
            Reach::Everything
        } else {
            Reach::PublicInternet
        }
    }
}

/// Waits until a call is given up of which nothing was sent. One that was sent may have an effect,
/// so that its answer is of interest.
async fn given_up_unsent(given_up: &CancellationToken, is_sent: &AtomicBool) {
    given_up.cancelled().await;
    if is_sent.load(Ordering::Relaxed) {
        std::future::pending::<()>().await;
    }
}

/// Waits for work until its time limit. An `async fn` would be twice as large as the work.
fn limited<T>(
    limit: Duration,
    work: impl Future<Output = Result<T, CallFailed>>,
) -> impl Future<Output = Result<T, CallFailed>> {
    timeout(limit, work).map(move |done| done.unwrap_or(Err(CallFailed::TimedOut(limit))))
}
