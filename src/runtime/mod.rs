//! Runs: from a request to its commit, including calls to members.
//!
//! May use: [`crate::backoff`], [`crate::id`], [`crate::clock`], [`crate::error`], [`crate::compat`],
//! [`crate::telemetry`], [`crate::entity`], [`crate::dispatch`], [`crate::model`],
//! [`crate::workflow`], [`crate::engine`], [`crate::explain`], [`crate::storage`],
//! [`crate::compute`], [`crate::connector`], [`crate::pool`], [`crate::dialect`],
//! [`crate::wasm`], [`crate::expr`], [`crate::program`], [`crate::registry`],
//! [`crate::condition`], [`crate::random`], [`crate::search`], [`crate::shares`], [`crate::text`].
//! A [`Session`] is one request working on a unit: its own, or an open one that the request joins
//! with a token. While a member is called the unit is parked, so that the member's requests can
//! join it (`grpc.md` §10).

mod again;
mod anchor;
mod apart;
mod critical;
mod dispatch;
mod drive;
mod due_tasks;
mod explain;
mod given_up;
mod incidents;
mod later;
mod lines;
pub mod machines;
pub mod managers;
mod producers;
mod promise;
mod retries;
pub mod runs;
mod session;
mod sharing;
#[cfg(test)]
mod simulation;
#[cfg(test)]
mod testing;
mod token;
mod transactions;
mod triggers;
mod turns;
mod write;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use tokio_util::sync::CancellationToken;

use crate::clock::Clock;
use crate::compat::Compat;
use crate::compute::{self, Members, Principal, tasks::Channels};
use crate::condition::Undeclared;
use crate::engine::Limits;
use crate::error::{Code, Coded, Properties};
use crate::id::{EntityId, Tenant, TransactionId};
use crate::model::ChangeLevel;
use crate::registry::Registry;
#[cfg(test)]
use crate::registry::Sealing;
use crate::storage::{Attribution, Definitions, NodeRow, Storage};
use crate::telemetry::measure::Step;
use crate::wasm::Wasm;

pub use again::again;
pub use critical::{Critical, CriticalGuard};
pub use explain::{Explained, Supposed};
pub use lines::{Lines, Place, Turn};
pub use promise::Promise;
pub use session::{COMMITTED, Session};
pub use transactions::Announced;
pub use write::{Content, Created, Deleted, NewEntity, Update, Updated};

use token::Signer;
use transactions::Transactions;

/// Settings of all runs.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    pub limits: Limits,
    pub calls: compute::Settings,
    pub compat: Compat,
    /// The minimum lifetime of a token; it lives longer if its call may take longer.
    pub token_life: Duration,
    /// The grace period after a timer's own time limit.
    pub expiry_grace: Duration,
    /// The pause before a failed task is retried.
    pub task_pause: Duration,
    /// The interval at which tasks of other processes are looked for, where several use the
    /// database.
    pub scan_interval: Duration,
    /// The first pause before work of runs, schedules and triggers is retried that failed; it
    /// doubles up to 300 times of this.
    pub retry_pause: Duration,
    pub runs: RunSettings,
}

/// Settings of runs of step workflows (`runs.md` §9).
#[derive(Debug, Clone, Copy)]
pub struct RunSettings {
    pub limits: crate::program::Limits,
    /// How long a task waits for a worker, unless its action says otherwise.
    pub tasks_wait: Duration,
    /// How many runs of a tenant may be there that have not ended.
    pub live_max: u64,
    /// How many signals, cancels and answers of a tenant may be waiting to be stored.
    pub arrivals_max: usize,
    /// How long a search of a step may take.
    pub search_timeout: Duration,
    /// How long a call of a saga may take, unless its connector says otherwise.
    pub connectors_timeout: Duration,
    /// How long the end of a simple saga is waited for, and of the compensations of one that is
    /// cancelled.
    pub sync_timeout: Duration,
    /// How many bytes a tenant may store before its schedules, triggers and modules stop adding to
    /// them; none for any number.
    pub stored_bytes_max: Option<u64>,
    /// Whether a tick that names no managers processes only the first that is in progress.
    pub one_manager_per_tick: bool,
}

impl RunSettings {
    pub const DEFAULT: Self = Self {
        limits: crate::program::Limits::DEFAULT,
        tasks_wait: Duration::from_hours(24),
        live_max: 1_000_000,
        arrivals_max: 10_000,
        search_timeout: Duration::from_secs(30),
        connectors_timeout: Duration::from_secs(30),
        sync_timeout: Duration::from_secs(30),
        stored_bytes_max: None,
        one_manager_per_tick: false,
    };
}

/// Drives runs; cheap to clone.
#[derive(Debug, Clone)]
pub struct Runtime(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    storage: Storage,
    members: Members,
    clock: Clock,
    settings: Settings,
    transactions: Arc<Transactions>,
    signer: Signer,
    registry: Registry,
    channels: Channels,
    plans: Arc<runs::Plans>,
    task_transactions: runs::TaskTransactions,
    modules: runs::Modules,
    parsed: runs::Parsed,
    calls: runs::Calls,
    arrivals: runs::Arrivals,
    /// Of arrivals for runs.
    lines: Lines,
    ticks: managers::Ticks,
    /// Events for entities.
    retries: retries::Retries,
}

/// What does the work of runs.
#[derive(Debug)]
pub struct Workers {
    /// Members and workers that pull.
    pub channels: Channels,
    /// Modules in this process.
    pub wasm: Wasm,
    /// Calls of connectors that this process makes.
    pub calls: runs::Calls,
}

/// The caller of a run.
#[derive(Debug, Clone)]
pub struct Initiator {
    pub tenant: Tenant,
    pub principal: Principal,
    /// Cancels the work, as long as nothing is committed.
    pub cancel: CancellationToken,
}

impl Initiator {
    /// The service itself.
    pub fn system(tenant: &Tenant) -> Self {
        Self {
            tenant: tenant.clone(),
            principal: Principal::system(),
            cancel: CancellationToken::new(),
        }
    }
}

/// Why a run was not begun.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    #[error("entity not found")]
    EntityNotFound(EntityId),
    #[error("entity has been modified since last read")]
    EntityModified(EntityId),
    #[error("the transaction token was not issued by this server")]
    TokenMalformed,
    #[error("the transaction token has expired; a call's token lives as long as the call may take")]
    TokenExpired,
    #[error("the transaction belongs to another tenant")]
    ForeignTransaction,
    #[error("transaction {0} is not open; it was committed or rolled back")]
    TransactionNotFound(TransactionId),
    #[error("too many requests are waiting for this transaction; wait for their answers")]
    TransactionBusy,
    #[error(
        "calls nest too deeply: {} members wait for requests that they made with their tokens; is a processor called by what it writes itself?",
        session::NESTED_CALLS_MAX
    )]
    NestedTooDeeply,
    #[error("the request was cancelled")]
    Cancelled,
}

impl Coded for Error {
    fn code(&self) -> Code {
        match self {
            Self::EntityNotFound(_) => Code::EntityNotFound,
            Self::EntityModified(_) => Code::EntityModified,
            Self::TokenMalformed => Code::Unauthorized,
            Self::TokenExpired => Code::TransactionExpired,
            Self::ForeignTransaction => Code::Forbidden,
            Self::TransactionNotFound(_) => Code::TransactionNotFound,
            Self::TransactionBusy => Code::TooManyRequests,
            Self::NestedTooDeeply => Code::WorkflowFailed,
            Self::Cancelled => Code::Cancelled,
        }
    }

    fn properties(&self) -> Properties {
        match self {
            Self::EntityNotFound(id) | Self::EntityModified(id) => {
                vec![("entityId", id.to_string().into())]
            }
            Self::TokenMalformed
            | Self::TokenExpired
            | Self::ForeignTransaction
            | Self::TransactionNotFound(_)
            | Self::TransactionBusy
            | Self::NestedTooDeeply
            | Self::Cancelled => Properties::new(),
        }
    }
}

#[cfg(test)]
impl Runtime {
    /// A runtime of its own registry and channels.
    fn alone(storage: Storage, members: Members, clock: Clock, settings: &Settings) -> Self {
        let registry = Registry::new(storage.clone(), Sealing::own(None), None);
        let of_tasks = compute::tasks::Settings {
            lease: Duration::from_secs(30),
            waiting_bytes_max: compute::tasks::Settings::WAITING_BYTES,
        };
        let channels = Channels::new(clock.clone(), of_tasks);
        let wasm = Wasm::new(clock.clone(), 1, CancellationToken::new());
        let workers = Workers {
            channels,
            wasm,
            calls: runs::Calls::new(
                crate::connector::Connectors::new(crate::connector::Settings::default()),
                tokio_util::task::TaskTracker::new(),
                CancellationToken::new(),
            ),
        };
        Self::new(storage, registry, members, workers, clock, *settings, None)
    }
}

impl Runtime {
    /// `signing` is the key with which all nodes of a cluster sign tokens.
    pub fn new(
        storage: Storage,
        registry: Registry,
        members: Members,
        workers: Workers,
        clock: Clock,
        settings: Settings,
        signing: Option<[u8; 32]>,
    ) -> Self {
        let Workers {
            channels,
            wasm,
            calls,
        } = workers;
        let signer = Signer::new(storage.node(), signing);
        Self(Arc::new(Inner {
            transactions: Arc::default(),
            storage,
            registry,
            channels,
            calls,
            plans: Arc::default(),
            task_transactions: runs::TaskTransactions::default(),
            modules: runs::Modules::new(wasm),
            parsed: runs::Parsed::default(),
            arrivals: runs::Arrivals::default(),
            lines: Lines::default(),
            ticks: managers::Ticks::default(),
            retries: retries::Retries::default(),
            members,
            clock,
            settings,
            signer,
        }))
    }

    /// The compatibility profile.
    pub fn compat(&self) -> Compat {
        self.0.settings.compat
    }

    /// How long a request waits for a saga (`runs.md` §9, `RUNS_SYNC_TIMEOUT`).
    pub fn sync_timeout(&self) -> Duration {
        self.0.settings.runs.sync_timeout
    }

    /// Whether what runs on behalf of a tenant may add to what it stores: schedules, triggers and
    /// modules, which are no requests, are held to the same limit.
    fn may_store_more(&self, tenant: &Tenant) -> bool {
        let most = self.0.settings.runs.stored_bytes_max;
        most.is_none_or(|most| self.0.storage.stored_bytes(tenant) < most)
    }

    pub fn storage(&self) -> &Storage {
        &self.0.storage
    }

    /// Whether transactions wait for members, which may join them.
    pub fn has_open_transactions(&self) -> bool {
        !self.0.transactions.is_empty()
    }

    /// What a condition may use that the model does not declare: a model that documents may widen by
    /// fields may still get a field (`search.md` §3).
    pub fn undeclared(&self, definitions: &Definitions) -> Undeclared {
        let may_grow = definitions.model.change_level == Some(ChangeLevel::Structural);
        if may_grow && !self.compat().unknown_fields_are_refused() {
            Undeclared::Fields
        } else {
            self.undeclared_values()
        }
    }

    /// What a condition may use that the model does not declare, where every field has to be
    /// declared.
    pub fn undeclared_values(&self) -> Undeclared {
        if self.compat().operands_are_declared() {
            Undeclared::Refused
        } else {
            Undeclared::Values
        }
    }

    /// The other node on which the transaction of `token` is open; none if it is this one, or if
    /// the token is not good.
    pub fn elsewhere(&self, token: &str) -> Option<NodeRow> {
        let (node, _) = self.0.signer.read(token, self.0.clock.now()).ok()?;
        (node != self.0.signer.node()).then_some(node)
    }

    /// Checks whether a request of that tenant may join the transaction of `token`.
    ///
    /// # Errors
    /// The reason why not: the same as for a session with that token.
    pub fn may_join(&self, tenant: &Tenant, token: &str) -> Result<(), Error> {
        let ticket = self.0.signer.verify(token, self.0.clock.now())?;
        self.open_for_task(tenant, ticket);
        self.0.transactions.may_join(tenant, ticket)
    }

    /// Announces a request that is going to join the transaction of `token`: as long as this is
    /// held, the call in which it joins does not end successfully. None if it cannot join, or if its
    /// transaction is open on another node.
    pub fn announce(&self, tenant: &Tenant, token: &str) -> Option<Announced> {
        let ticket = self.0.signer.verify(token, self.0.clock.now()).ok()?;
        self.open_for_task(tenant, ticket);
        self.0.transactions.announce(tenant, ticket)
    }

    /// A session on a unit of its own, or on the unit that `token` names.
    pub async fn session(&self, by: &Initiator, token: Option<&str>) -> Result<Session, Error> {
        let Some(token) = token else {
            return Ok(self.session_for(by, by.attribution()));
        };
        let ticket = self.0.signer.verify(token, self.0.clock.now())?;
        self.open_for_task(&by.tenant, ticket);
        Session::join(Arc::clone(&self.0.transactions), by, ticket).await
    }
}

impl Runtime {
    /// A session on a unit of its own, with a given attribution.
    fn session_for(&self, by: &Initiator, attribution: Attribution) -> Session {
        let begun = Instant::now();
        let unit = Box::new(self.0.storage.unit(&by.tenant, attribution));
        let session = Session::own(Arc::clone(&self.0.transactions), unit);
        Step::Begin.since(begun);
        session
    }
}

impl Initiator {
    fn attribution(&self) -> Attribution {
        Attribution {
            author: self.principal.actor.clone(),
            executor: None,
        }
    }
}
