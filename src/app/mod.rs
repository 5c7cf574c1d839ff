//! The process: configuration, telemetry, wiring, shutdown.
//!
//! May use: [`crate::id`], [`crate::clock`], [`crate::cluster`], [`crate::compat`], [`crate::telemetry`], [`crate::entity`],
//! [`crate::engine`], [`crate::error`], [`crate::storage`], [`crate::auth`], [`crate::compute`],
//! [`crate::connector`], [`crate::program`], [`crate::registry`], [`crate::runtime`], [`crate::wasm`],
//! [`crate::search`], [`crate::event`], [`crate::operation`], [`crate::help`], [`crate::grpc`],
//! [`crate::rest`], [`crate::shares`].

mod announce;
pub mod bundles;
mod calls;
pub mod cluster;
pub mod config;
pub mod connections;
mod connectors;
pub mod databases;
mod identity;
mod incoming;
mod listen;
mod readiness;
pub mod settings;
mod signals;
mod sources;
pub mod tls;

use std::{
    panic::AssertUnwindSafe,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::FutureExt as _;
use serde_json::Value;
use tokio::time::{sleep, timeout};
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};
use tonic::transport::ClientTlsConfig;
use tracing::{error, info, warn};

use crate::auth::Authenticator;
use crate::cluster::Cluster;
use crate::compute::{Members, tasks::Channels};
use crate::error::{Code, Coded as _};
use crate::event::EventType;
use crate::grpc;
use crate::help::{Facts, Library};
use crate::operation::{
    self, Answering, EventSchema, Keys, OwnRoutes, Receiving, Services, Tenants,
};
use crate::registry::{Folder, FolderError, Registry, Sealing};
use crate::rest::{self, Gateway};
use crate::runtime::{Runtime, Workers, runs::Calls};
use crate::search::Jobs;
use crate::storage::{DatabaseLocation, NameTaken, NodeEntry, Storage};
use crate::telemetry::Telemetry;
use crate::wasm::Wasm;

use announce::announce;
use config::Config;
pub(crate) use listen::Addresses;
use listen::{Listeners, Serving};
use readiness::readiness;
use settings::Setting;
use tls::Tls;

/// After which pause it is tried again to enter the list of nodes.
const ENTRY_PAUSE: Duration = Duration::from_millis(250);

/// How long requests in flight are awaited when the process stops (`config-and-cli.md` §6).
const GRACE: Duration = Duration::from_secs(10);

/// A little longer for streams, which send their final status at the end.
const GRACE_OF_STREAMS: Duration = Duration::from_secs(11);

/// How long it may take to store what was reported until then.
const GRACE_OF_REPORTS: Duration = Duration::from_secs(2);

/// Why the process could not start or continue.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot listen on {address} for {what}; set {remedy}")]
    Listen {
        what: &'static str,
        address: String,
        remedy: String,
        #[source]
        source: std::io::Error,
    },
    #[error(transparent)]
    Tls(#[from] tls::Error),
    #[error("the storage could not be opened")]
    Storage(#[from] crate::storage::Error),
    #[error("the database {} of CYODA_SQLITE_PATH could not be opened", .path.display())]
    File {
        path: PathBuf,
        #[source]
        source: crate::storage::Error,
    },
    #[error("the storage could not be opened within {0:?}; raise CYODA_STARTUP_TIMEOUT")]
    StartupTimeout(Duration),
    #[error("clients, keys and providers could not be loaded")]
    Identity(#[from] operation::Unknown),
    #[error(transparent)]
    Unreadable(#[from] bundles::Unreadable),
    #[error(transparent)]
    Definitions(#[from] operation::DefinitionsError),
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error("a listener failed")]
    Serve(#[from] std::io::Error),
    #[error("the gRPC server failed")]
    Grpc(#[from] tonic::transport::Error),
    #[error(transparent)]
    NameTaken(#[from] NameTaken),
    #[error("the service descriptors are not readable")]
    Reflection(#[from] tonic_reflection::server::Error),
}

/// Runs the service until it is asked to stop.
pub async fn run(config: Config, telemetry: Telemetry) -> Result<(), Error> {
    let asked_to_stop = signals::listen(telemetry.clone(), config.tls.is_some())?;
    let tls = config.tls.clone().map(Tls::load).transpose()?;
    let stop = CancellationToken::new();
    let opening = Storage::open(&config.storage, config.clock.clone(), stop.clone());
    let opening = timeout(config.startup_timeout, opening);
    let Some(opened) = asked_to_stop.run_until_cancelled(opening).await else {
        info!("stopped before the start was complete");
        return Ok(());
    };
    let opened = opened.map_err(|_| Error::StartupTimeout(config.startup_timeout))?;
    let (storage, committer) = opened.map_err(|source| match &config.storage.place {
        DatabaseLocation::File(path) => Error::File {
            path: path.clone(),
            source,
        },
        DatabaseLocation::Memory | DatabaseLocation::Server(_) => Error::Storage(source),
    })?;
    let committer_stop = stop.drop_guard();
    let serving = serve(
        config,
        telemetry,
        tls,
        storage,
        committer_stop,
        asked_to_stop,
    );
    let served = tokio::spawn(serving);
    // Here, and not as a task: the thread of this future has nothing else to do.
    if Box::pin(AssertUnwindSafe(committer).catch_unwind())
        .await
        .is_err()
    {
        error!("the database writer has failed, so writes are refused; restart the service");
    }
    let outcome = flatten(served.await);
    info!("stopped");
    outcome
}

/// Enters this process into the list of those that use the database. The connections that it needs
/// for that were free a moment ago; another process that starts may have taken them since.
async fn enter(
    config: &Config,
    storage: &Storage,
    listeners: &Listeners,
    asked_to_stop: &CancellationToken,
) -> Result<(), Error> {
    let begun = Instant::now();
    let (name, address) = (
        &config.node.name,
        config.node.address(listeners.grpc_address().port()),
    );
    let entry = NodeEntry {
        name: Arc::clone(name),
        address: Arc::clone(&address),
        version: env!("CARGO_PKG_VERSION").into(),
    };
    let number = loop {
        let has_time = begun.elapsed() < config.startup_timeout && !asked_to_stop.is_cancelled();
        match storage.enter(entry.clone()).await {
            Err(error) if has_time && error.code() == Code::StorageUnavailable => {
                warn!("this process has not entered the list of nodes: {error}; trying again");
                sleep(ENTRY_PAUSE).await;
            }
            entered => break entered?,
        }
    };
    if storage.is_shared() {
        info!(node = %name, number = number.0, %address, "this process is a node of its database");
    }
    Ok(())
}

/// The other nodes, if this process is a node of a cluster.
async fn join_cluster(
    config: &Config,
    storage: &Storage,
    members: &Members,
    tasks: &TaskTracker,
    stop: &CancellationToken,
) -> Result<Option<Cluster>, Error> {
    let Some(settings) = config.cluster.clone() else {
        return Ok(None);
    };
    let files = config.tls.clone();
    let dial = grpc::Dialler {
        message_max: grpc::peer_message_max(config.grpc_message_max),
        tls: Arc::new(move || match &files {
            Some(files) => files.between_nodes().map_err(|error| error.to_string()),
            // Others may use TLS where this node does not.
            None => Ok(ClientTlsConfig::new().with_native_roots()),
        }),
    };
    let cluster = Cluster::new(
        storage.clone(),
        members.clone(),
        settings,
        &config.node.name,
        dial,
        tasks.clone(),
        stop.clone(),
    )
    .await?;
    members.reach(Arc::new(cluster.clone()));
    tasks.spawn(cluster.clone().keep_members());
    Ok(Some(cluster))
}

/// Answers what other nodes carry here, as if it had come here at first.
fn answer_carried(cluster: Option<&Cluster>, services: &Services, router: &axum::Router) {
    let Some(cluster) = cluster else {
        return;
    };
    let (services, router) = (services.clone(), router.clone());
    let runtime = services.runtime.clone();
    cluster.answer_with(
        Arc::new(move |body, cancel| operation::answer_carried(&services, body, cancel)),
        Arc::new(move |body, _| rest::answer_carried(&router, body)),
        Arc::new(move || runtime.has_open_transactions()),
    );
}

/// What REST is served with.
fn gateway(config: &Config, services: Services, authenticator: Authenticator) -> Gateway {
    Gateway {
        services,
        authenticator,
        help: Arc::new(help(&config.context_path)),
        detail: config.error_detail,
        context: config.context_path.clone(),
        origins: config.origins.clone(),
        is_local: config.listen.http.ip().is_loopback(),
        is_tls: config.tls.is_some(),
    }
}

/// Begins what keeps certificates and figures up to date.
fn keep_up(tls: Option<Tls>, telemetry: &Telemetry, tasks: &TaskTracker, stop: &CancellationToken) {
    if let Some(tls) = tls {
        tasks.spawn(tls.keep_up(stop.clone()));
    }
    let measured = telemetry.exporter().clone().keep_up();
    let measuring = stop.clone();
    tasks.spawn(async move { measuring.run_until_cancelled(measured).await });
}

/// The limits of tenants.
fn tenants(config: &Config, tasks: &TaskTracker, stop: &CancellationToken) -> Tenants {
    let tenants = Tenants::new(config.tenant_limits);
    tasks.spawn(tenants.clone().keep_small(stop.clone()));
    tenants
}

/// Loads clients, keys and providers, and begins what keeps them up to date.
async fn keep_identities(
    config: &Config,
    storage: &Storage,
    tasks: &TaskTracker,
    stop: &CancellationToken,
) -> Result<(), Error> {
    let Some(tokens) = config.authenticator.tokens() else {
        return Ok(());
    };
    operation::recall(storage, tokens).await?;
    tasks.spawn(tokens.federation().clone().keep(stop.clone()));
    let (tokens, stop) = (tokens.clone(), stop.clone());
    tasks.spawn(operation::follow_identities(storage.clone(), tokens, stop));
    Ok(())
}

/// Serves until the process is asked to stop, and then stops the committer.
async fn serve(
    config: Config,
    telemetry: Telemetry,
    tls: Option<Tls>,
    storage: Storage,
    committer: DropGuard,
    asked_to_stop: CancellationToken,
) -> Result<(), Error> {
    let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
    keep_identities(&config, &storage, &tasks, &stop).await?;
    let connections_open = connections::Registry::new(caps(&config));
    let listeners = Listeners::bind(&config.listen, tls.as_ref(), &connections_open).await?;
    enter(&config, &storage, &listeners, &asked_to_stop).await?;
    let members = no_members(&config);
    let folder = manager_folder(&config)?;
    let registry = Registry::new(storage.clone(), sealing(&config), folder);
    let channels = Channels::new(config.clock.clone(), config.tasks);
    let runtime = Runtime::new(
        storage.clone(),
        registry.clone(),
        members.clone(),
        workers(&config, &channels, &tasks, &stop),
        config.clock.clone(),
        config.runtime,
        config.cluster.as_ref().map(Cluster::signing),
    );
    let cluster = join_cluster(&config, &storage, &members, &tasks, &stop).await?;
    let reports = Reports::begin(&runtime, &channels, &stop);
    drive_runs(&config, &runtime, &tasks, &stop);
    keep_storage(&config, &storage, &tasks, &stop);
    let (jobs, runner) = Jobs::new(storage.clone(), config.jobs);
    tasks.spawn(runner.run(stop.clone()));
    let services = Services {
        runtime,
        registry,
        telemetry: telemetry.clone(),
        groups_max: config.groups_max,
        sort_keys_max: config.sort_keys_max,
        search_timeout: config.search_timeout,
        members: members.clone(),
        channels: channels.clone(),
        in_flight: TaskTracker::new(),
        stopping: stop.clone(),
        keys: Keys::new(config.idempotency_life),
        jobs,
        authenticator: config.authenticator.clone(),
        rules: config.rules,
        tenants: tenants(&config, &tasks, &stop),
        receiving: Receiving::new(receiving_bytes(&config)),
        answering: Answering::new(receiving_bytes(&config)),
        connectors: Arc::new(config.connectors.clone()),
        routes: own_routes(&config),
        cluster: cluster.clone(),
    };
    define(&config, &services, &asked_to_stop, &tasks, &stop).await?;
    let checked = services.registry.clone();
    tasks.spawn(async move { checked.report_locked_bundles().await });
    let authenticator = config.authenticator.clone();
    let service = grpc::Service {
        services: services.clone(),
        members,
        channels,
        authenticator: authenticator.clone(),
        streams: config.streams,
        message_max: config.grpc_message_max,
        stop: stop.clone(),
        tasks: tasks.clone(),
    };
    let router = rest::router(gateway(&config, services, authenticator));
    answer_carried(cluster.as_ref(), &service.services, &router);
    let (is_ready, probe) = readiness(storage.clone(), stop.clone()).await;
    let links = cluster.clone();
    let serving = Serving {
        grpc: service,
        peers: cluster.map(|cluster| grpc::PeerService {
            cluster,
            tasks: tasks.clone(),
        }),
        rest: router,
        admin: rest::admin(
            is_ready,
            telemetry.exporter().clone(),
            tokio::runtime::Handle::current(),
            config.metrics_bearer.clone(),
        ),
        probe,
        times: config.connections.times,
        storage: storage.clone(),
    };
    let node = tokio::spawn(storage.clone().keep_node(stop.clone()));
    announce(&config, &listeners, tls.as_ref());
    keep_up(tls, &telemetry, &tasks, &stop);
    let served = tokio::spawn(serving.run(listeners, stop.clone()));
    let outcome = until_stopped(served, node, stop, asked_to_stop).await;
    links.inspect(Cluster::end);
    // First the streams, which still commit; then the committer, which answers what is waiting.
    tasks.close();
    let _ = timeout(GRACE_OF_STREAMS, tasks.wait()).await;
    reports.end().await;
    storage.leave().await;
    drop(committer);
    tasks.wait().await;
    outcome
}

/// Applies the definitions of the settings, unless the process is asked to stop meanwhile. If they
/// cannot be applied, the tasks are ended before the storage is closed: they would report that it is.
async fn define(
    config: &Config,
    services: &Services,
    asked_to_stop: &CancellationToken,
    tasks: &TaskTracker,
    stop: &CancellationToken,
) -> Result<(), Error> {
    let Some(folder) = &config.definitions else {
        return Ok(());
    };
    let applying = Box::pin(bundles::apply(services, folder, &config.definitions_tenant));
    let Some(Err(error)) = asked_to_stop.run_until_cancelled(applying).await else {
        return Ok(());
    };
    stop.cancel();
    tasks.close();
    let _ = timeout(GRACE_OF_STREAMS, tasks.wait()).await;
    Err(error)
}

/// The paths of the service itself, which no route may take.
fn own_routes(config: &Config) -> OwnRoutes {
    let context = &config.context_path;
    let paths = rest::paths();
    let below = paths.iter().filter_map(|(_, path)| {
        let (method, path) = path.split_once(' ')?;
        Some((method.to_owned(), format!("{context}{path}")))
    });
    OwnRoutes::new(&config.routes_prefix, context, below)
}

/// The key of the settings, or one of the database's own.
fn sealing(config: &Config) -> Sealing {
    match (&config.seal, &config.storage.place) {
        (Some(seal), _) => Sealing::with(seal.clone()),
        (None, DatabaseLocation::File(path)) => Sealing::own(Some(path)),
        (None, DatabaseLocation::Memory) => Sealing::own(None),
        (None, DatabaseLocation::Server(_)) => Sealing::none(),
    }
}

/// The folder that has the files of a namespace, if there is one.
fn manager_folder(config: &Config) -> Result<Option<Folder>, FolderError> {
    let Some(given) = &config.manager_folder else {
        return Ok(None);
    };
    let (tenant, namespace) = (given.tenant.clone(), Arc::clone(&given.namespace));
    let folder = Folder::open(&given.path, tenant, namespace)?;
    info!(folder = %given.path.display(), tenant = %given.tenant, namespace = %given.namespace, "the files of a namespace are in a folder");
    Ok(Some(folder))
}

/// The members, of which none has joined yet.
fn no_members(config: &Config) -> Members {
    if config.runtime.compat.any_tag_suffices() {
        Members::of_any_tag()
    } else {
        Members::default()
    }
}

/// What does the work of runs.
fn workers(
    config: &Config,
    channels: &Channels,
    tasks: &TaskTracker,
    stop: &CancellationToken,
) -> Workers {
    let connectors = connectors::start(&config.connectors, tasks, stop);
    Workers {
        channels: channels.clone(),
        wasm: Wasm::new(config.clock.clone(), config.wasm_concurrency, stop.clone()),
        calls: Calls::new(connectors, tasks.clone(), stop.clone()),
    }
}

/// Begins what keeps the storage in order: its log, its indexes, and what is past its time.
fn keep_storage(config: &Config, storage: &Storage, tasks: &TaskTracker, stop: &CancellationToken) {
    tasks.spawn(storage.clone().keep_log_short(stop.clone()));
    tasks.spawn(storage.clone().name_damage(stop.clone()));
    tasks.spawn(storage.clone().keep_indexes(stop.clone()));
    tasks.spawn(storage.clone().adapt_indexes(stop.clone()));
    if config.tenant_limits.stored_bytes.is_some() {
        tasks.spawn(storage.count_usage(stop.clone()));
    }
    if let Some(retention) = config.runs_retention {
        tasks.spawn(storage.clone().forget_runs(retention, stop.clone()));
    }
    if let Some(retention) = config.topics_retention {
        tasks.spawn(storage.clone().forget_topic_events(retention, stop.clone()));
    }
}

/// Hands out tasks, and records how they end until the requests in flight at the stop have ended.
struct Reports {
    tasks: TaskTracker,
    end: CancellationToken,
}

impl Reports {
    fn begin(runtime: &Runtime, channels: &Channels, stop: &CancellationToken) -> Self {
        let (tasks, end) = (TaskTracker::new(), CancellationToken::new());
        channels.stop_with(stop.clone());
        tasks.spawn(channels.run(runtime.task_ends(), end.clone()));
        tasks.spawn(runtime.clone().keep_leases(end.clone()));
        Self { tasks, end }
    }

    async fn end(self) {
        self.end.cancel();
        self.tasks.close();
        let _ = timeout(GRACE_OF_REPORTS, self.tasks.wait()).await;
    }
}

/// Begins to do what is due.
fn drive_runs(config: &Config, runtime: &Runtime, tasks: &TaskTracker, stop: &CancellationToken) {
    if config.look_after_tasks {
        let due = runtime.clone();
        tasks.spawn(due.look_after_tasks(tasks.clone(), stop.clone()));
        tasks.spawn(runtime.clone().look_after_producers(stop.clone()));
        if let Some(interval) = config.manager_interval {
            tasks.spawn(runtime.clone().tick_on_schedule(interval, stop.clone()));
        }
    }
    tasks.spawn(runtime.clone().share_tasks(stop.clone()));
    tasks.spawn(runtime.clone().keep_mirrors(stop.clone()));
}

/// The limits of connections: what is set, within the file limit.
fn caps(config: &Config) -> connections::Caps {
    let (room, files) = connections::file_limit();
    let asked = config.connections.max;
    if asked > room {
        warn!(
            asked,
            allowed = room,
            files,
            "INTERLOCK_CONNECTIONS_MAX is more than the process's file limit allows; raise that limit, for instance with ulimit -n"
        );
    }
    connections::Caps {
        total: if asked == 0 { room } else { asked.min(room) },
        per_address: config.connections.per_address,
    }
}

/// How many bytes of requests are held at once: a part of the memory, because documents take
/// several times their size while they are processed.
fn receiving_bytes(config: &Config) -> usize {
    const PART: u64 = 8;
    const LEAST: usize = 32 << 20;
    const MOST: usize = 256 << 20;
    let part = || {
        let part = connections::memory_limit().map_or(u64::MAX, |memory| memory / PART);
        usize::try_from(part)
            .unwrap_or(usize::MAX)
            .clamp(LEAST, MOST)
    };
    match config.connections.receiving_bytes {
        0 => part(),
        bytes => bytes,
    }
}

/// The help topics.
pub fn help(context_path: &str) -> Library {
    Library::new(Facts {
        settings: settings::SETTINGS.iter().map(Setting::described).collect(),
        paths: rest::paths(),
        openapi: rest::openapi,
        server: context_path.to_owned(),
    })
}

/// The files that clients of other languages are made from, by their names.
pub fn schema_files() -> Vec<(String, String)> {
    operation::schema_files(&rest::paths())
}

/// The JSON Schema of the data of an event type; none if there is no such type.
pub fn event_schema(name: &str) -> Option<Value> {
    let event = EventSchema::of(EventType::from_name(name)?)?;
    Some(event.document(&rest::paths()))
}

fn flatten(joined: Result<Result<(), Error>, tokio::task::JoinError>) -> Result<(), Error> {
    joined.unwrap_or_else(|panic| Err(std::io::Error::other(panic).into()))
}

/// Waits for a signal, for a listener that failed, or for another process that takes the name of
/// this one; then for the requests in flight.
async fn until_stopped(
    mut served: tokio::task::JoinHandle<Result<(), Error>>,
    node: tokio::task::JoinHandle<Result<(), NameTaken>>,
    stop: CancellationToken,
    asked_to_stop: CancellationToken,
) -> Result<(), Error> {
    let mut replaced = None;
    tokio::select! {
        ended = &mut served => {
            stop.cancel();
            return flatten(ended);
        }
        () = asked_to_stop.cancelled() => {}
        Ok(Err(taken)) = node => replaced = Some(taken),
    }
    stop.cancel();
    let ended = timeout(GRACE, served).await;
    if let Some(taken) = replaced {
        return Err(taken.into());
    }
    if let Ok(ended) = ended {
        flatten(ended)
    } else {
        warn!(
            grace_ms = GRACE.as_millis(),
            "some requests did not finish in time"
        );
        Ok(())
    }
}
