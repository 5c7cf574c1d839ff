//! Reads settings and combines them (`config-and-cli.md` §0–§2).

use std::{net::SocketAddr, num::NonZeroU32, path::PathBuf, sync::Arc, time::Duration};

use tonic::metadata::AsciiMetadataValue;
use tracing::Level;

use super::{
    bundles, cluster,
    connections::{self, Connections},
    connectors, identity,
    listen::Addresses,
    sources::{Variables, home_folder},
    tls,
};
use crate::auth::{Authenticator, Rules, Seal};
use crate::clock::{Clock, Correction};
use crate::compat::Compat;
use crate::compute::{self, tasks};
use crate::connector;
use crate::engine::Limits;
use crate::grpc::StreamSettings;
use crate::id::Tenant;
use crate::operation::Limits as TenantLimits;
use crate::program;
use crate::rest::{Bearer, Detail, Origins};
use crate::runtime::{self, RunSettings};
use crate::search::{JobSettings, SORT_KEYS_MAX};
use crate::storage::{
    self, DatabaseLocation, Durability, IndexSettings, Migrate, Server, UsedIndexes,
};

pub(super) use super::sources::process_environment;
pub use super::sources::{ConfigError, SYSTEM_FILE, Sources, user_file};

/// All settings of the process.
#[derive(Debug, Clone)]
pub struct Config {
    pub listen: Addresses,
    /// Settings of connections.
    pub connections: Connections,
    /// The TLS files, if TLS is enabled.
    pub tls: Option<tls::Files>,
    /// The prefix of REST paths; empty, or with a leading slash and without a trailing one.
    pub context_path: String,
    pub storage: storage::Settings,
    /// The clock of the process; where the database has one, it follows that.
    pub clock: Clock,
    /// This process among those that use the database.
    pub node: cluster::NodeSettings,
    /// The cluster, if this process is a node of one.
    pub cluster: Option<crate::cluster::Settings>,
    pub startup_timeout: Duration,
    pub log_level: Level,
    pub banner: bool,
    pub error_detail: Detail,
    pub runtime: runtime::Settings,
    /// Whether timers fire.
    pub look_after_tasks: bool,
    /// How many WebAssembly actions are executed at the same moment.
    pub wasm_concurrency: usize,
    pub tasks: tasks::Settings,
    /// How long runs that have ended are kept; none: for ever.
    pub runs_retention: Option<Duration>,
    /// How often managers are ticked; none: on demand only.
    pub manager_interval: Option<Duration>,
    /// The folder with the files of a namespace, if there is one.
    pub manager_folder: Option<ManagerFolder>,
    /// How long events of topics are kept; none: for ever.
    pub topics_retention: Option<Duration>,
    pub connectors: connector::Settings,
    pub streams: StreamSettings,
    /// How long outcomes of requests with an idempotency key are kept.
    pub idempotency_life: Duration,
    pub jobs: JobSettings,
    pub grpc_message_max: usize,
    /// How many groups grouped statistics may have.
    pub groups_max: usize,
    /// How many sort keys a search may have.
    pub sort_keys_max: usize,
    /// The time limit of a search for which a caller waits.
    pub search_timeout: Duration,
    pub authenticator: Authenticator,
    /// The key of the settings that seals variables of bundles.
    pub seal: Option<Seal>,
    /// The definitions of the operator, and whose they are.
    pub definitions: Option<PathBuf>,
    pub definitions_tenant: Tenant,
    /// The prefix of routes; empty, or with a leading slash and without a trailing one.
    pub routes_prefix: String,
    /// What tenants may administer.
    pub rules: Rules,
    /// The limits of each tenant.
    pub tenant_limits: TenantLimits,
    /// The origins whose pages may use REST from a browser; none for no cross-origin access.
    pub origins: Option<Origins>,
    /// The bearer token required for metrics.
    pub metrics_bearer: Option<Bearer>,
    /// What commands send to a service as their authorization.
    pub authorization: Option<AsciiMetadataValue>,
    /// Warnings for the operator, to be logged.
    pub warnings: Vec<String>,
}

/// A folder with the files of a namespace, and whose they are.
#[derive(Debug, Clone)]
pub struct ManagerFolder {
    pub path: PathBuf,
    pub tenant: Tenant,
    pub namespace: Arc<str>,
}

/// How many connections to the database there may be: room for each is made at once.
const CONNECTIONS_MOST: usize = 10_000;

/// How many connections a process needs: one writes, one asks for the newest commit, one waits for
/// notifications, one says that the process is live, and two read, of which one reads by key.
const CONNECTIONS_LEAST: usize = 6;

impl Config {
    /// Reads all settings. One that cannot be parsed is an error, never a silent default.
    pub fn read(sources: Sources) -> Result<Self, ConfigError> {
        let place = database_location(&sources)?;
        Self::with_database(sources, place)
    }

    /// The same for a command that only calls a service: there may be no place for a database.
    pub fn of_client(sources: Sources) -> Result<Self, ConfigError> {
        let place = database_location(&sources);
        Self::with_database(sources, place.unwrap_or(DatabaseLocation::Memory))
    }

    fn with_database(mut sources: Sources, place: DatabaseLocation) -> Result<Self, ConfigError> {
        sources.check_others()?;
        let storage = storage_settings(&sources, place)?;
        let clock = Clock::Corrected(Correction::default());
        let authenticator = identity::authenticator(&mut sources, clock.clone())?;
        let (definitions, definitions_tenant) = bundles::definitions(&sources, &authenticator)?;
        let cluster = cluster::settings(&mut sources)?;
        let connections = connections::settings(&sources, authenticator.is_mocked())?;
        let admin = sources.read("ADMIN_BIND_ADDRESS", "an IP address", |text| {
            text.parse().ok()
        })?;
        let tls = tls::files(&sources)?;
        let seconds = |name| {
            sources
                .count(name)
                .map(|seconds| Duration::from_secs(seconds as u64))
        };
        Ok(Self {
            connectors: connectors::settings(&sources, authenticator.is_mocked(), &storage)?,
            listen: Addresses {
                http: SocketAddr::new(connections.address, sources.port("HTTP_PORT")?),
                grpc: SocketAddr::new(connections.address, sources.port("GRPC_PORT")?),
                admin: SocketAddr::new(admin, sources.port("ADMIN_PORT")?),
            },
            connections,
            cluster,
            node: cluster::node(&sources, tls.is_some())?,
            tls,
            context_path: path_prefix(&sources, "CONTEXT_PATH")?,
            storage,
            clock,
            startup_timeout: sources.positive_duration("STARTUP_TIMEOUT")?,
            log_level: sources.choice("LOG_LEVEL")?.parse().unwrap_or(Level::INFO),
            banner: !sources.truth("SUPPRESS_BANNER")?,
            error_detail: if sources.choice("ERROR_RESPONSE_MODE")? == "verbose" {
                Detail::Verbose
            } else {
                Detail::Sanitized
            },
            runtime: runtime::Settings {
                limits: Limits {
                    // Values that are not above 0 mean the default (`workflow-engine.md` §7.6).
                    state_visits: u32::try_from(sources.number::<i64>("MAX_STATE_VISITS")?)
                        .ok()
                        .filter(|visits| *visits > 0)
                        .unwrap_or_else(|| Limits::default().state_visits),
                    time: sources.positive_duration("MAX_RUN_TIME")?,
                    ..Limits::default()
                },
                calls: call_settings(&sources)?,
                compat: compat(&sources)?,
                token_life: sources.duration("TX_TOKEN_TTL")?,
                expiry_grace: sources.duration("SCHEDULER_EXPIRY_GRACE")?,
                task_pause: sources.duration("SCHEDULER_REDISPATCH_BACKOFF")?,
                scan_interval: sources.duration("SCHEDULER_SCAN_INTERVAL")?,
                retry_pause: sources.duration("RETRY_PAUSE")?,
                runs: run_settings(&sources)?,
            },
            runs_retention: sources.duration_or_none("RUNS_RETENTION")?,
            manager_interval: sources.duration_or_none("MANAGER_INTERVAL")?,
            manager_folder: bundles::manager_folder(&sources, &authenticator)?,
            topics_retention: sources.duration_or_none("TOPICS_RETENTION")?,
            tasks: tasks::Settings {
                lease: sources.positive_duration("TASKS_LEASE")?,
                waiting_bytes_max: tasks::Settings::WAITING_BYTES,
            },
            look_after_tasks: sources.truth("SCHEDULER_ENABLED")?,
            wasm_concurrency: sources.count("WASM_CONCURRENCY")?,
            streams: StreamSettings {
                in_flight_max: sources.count("STREAM_MAX_IN_FLIGHT")?,
                queued_max: sources.count("STREAM_MAX_QUEUED")?,
                send_timeout: sources.positive_duration("STREAM_SEND_TIMEOUT")?,
                keep_alive_interval: seconds("KEEPALIVE_INTERVAL")?,
                keep_alive_timeout: seconds("KEEPALIVE_TIMEOUT")?,
            },
            idempotency_life: sources.duration("IDEMPOTENCY_TTL")?,
            jobs: JobSettings {
                life: sources.duration("SEARCH_SNAPSHOT_TTL")?,
                reap_interval: sources.duration("SEARCH_REAP_INTERVAL")?,
            },
            grpc_message_max: sources.count("GRPC_MAX_MESSAGE_BYTES")?,
            search_timeout: sources.positive_duration("SEARCH_TIMEOUT")?,
            groups_max: above_zero(&sources, "STATS_GROUP_MAX", 10_000)?,
            sort_keys_max: above_zero(&sources, "SEARCH_MAX_SORT_KEYS", SORT_KEYS_MAX)?,
            authenticator,
            seal: identity::seal(&sources)?,
            definitions,
            definitions_tenant,
            routes_prefix: path_prefix(&sources, "ROUTES_PREFIX")?,
            rules: identity::rules(&sources)?,
            tenant_limits: tenant_limits(&sources)?,
            origins: origins(&sources)?,
            metrics_bearer: metrics_bearer(&sources)?,
            authorization: authorization(&sources)?,
            warnings: sources.warnings,
        })
    }
}

fn tenant_limits(sources: &Sources) -> Result<TenantLimits, ConfigError> {
    Ok(TenantLimits {
        requests_per_second: NonZeroU32::new(sources.number("TENANT_REQUESTS_PER_SECOND")?),
        in_flight: Some(sources.number("TENANT_IN_FLIGHT")?).filter(|most| *most > 0),
        stored_bytes: Some(sources.number("TENANT_STORED_BYTES")?).filter(|most| *most > 0),
    })
}

/// The settings of calls to members.
fn call_settings(sources: &Sources) -> Result<compute::Settings, ConfigError> {
    Ok(compute::Settings {
        wait_for_member: sources.duration("DISPATCH_WAIT_TIMEOUT")?,
        response_timeout: sources.positive_duration("DISPATCH_RESPONSE_TIMEOUT")?,
        out_max: sources.count("MAX_CALLS_OUT")?,
    })
}

fn compat(sources: &Sources) -> Result<Compat, ConfigError> {
    Ok(Compat::from_name(sources.choice("COMPAT")?).unwrap_or_default())
}

/// Where the database is.
fn database_location(sources: &Sources) -> Result<DatabaseLocation, ConfigError> {
    Ok(match sources.choice("STORAGE_BACKEND")? {
        "memory" => DatabaseLocation::Memory,
        "postgres" => DatabaseLocation::Server(server(sources)?.ok_or_else(no_server)?),
        _ => DatabaseLocation::File(database_file(sources)?),
    })
}

fn storage_settings(
    sources: &Sources,
    place: DatabaseLocation,
) -> Result<storage::Settings, ConfigError> {
    let backend = sources.choice("STORAGE_BACKEND")?;
    // Both are checked, whichever counts.
    any_server(sources)?;
    sources.truth("POSTGRES_AUTO_MIGRATE")?;
    let auto_migrate = if backend == "postgres" {
        "POSTGRES_AUTO_MIGRATE"
    } else {
        "SQLITE_AUTO_MIGRATE"
    };
    Ok(storage::Settings {
        place,
        durability: if sources.choice("DURABILITY")? == "relaxed" {
            Durability::Relaxed
        } else {
            Durability::Full
        },
        busy_timeout: sources.duration("SQLITE_BUSY_TIMEOUT")?,
        cache_kib: sources.number("SQLITE_CACHE_SIZE")?,
        scan_max: sources.count("SQLITE_SEARCH_SCAN_LIMIT")?,
        absent_lists_are_null: compat(sources)?.absent_lists_are_null(),
        queue_bytes: sources.count("COMMIT_QUEUE_BYTES")?,
        start_check: sources.duration("START_CHECK_TIME")?,
        migrate: if sources.truth(auto_migrate)? {
            Migrate::Yes
        } else {
            Migrate::No
        },
        indexes: IndexSettings {
            used: match sources.choice("SEARCH_INDEXES")? {
                "off" => UsedIndexes::None,
                "declared" => UsedIndexes::Declared,
                _ => UsedIndexes::Adaptive,
            },
            visits: sources.number("INDEX_ADAPTIVE_VISITS")?,
            per_model_max: sources.number("INDEX_ADAPTIVE_MAX")?,
            unused: sources.duration("INDEX_ADAPTIVE_UNUSED")?,
        },
    })
}

/// The file of a database in a file.
pub(super) fn database_file(sources: &Sources) -> Result<PathBuf, ConfigError> {
    let path = sources.string("SQLITE_PATH")?;
    if path.is_empty() {
        data_file(&sources.sources[0])
    } else {
        Ok(path.into())
    }
}

pub(super) fn no_server() -> ConfigError {
    ConfigError::Together(
        "CYODA_STORAGE_BACKEND=postgres needs CYODA_POSTGRES_URL, or CYODA_POSTGRES_URL_FILE: \
         postgres://user:password@host:5432/name"
            .to_owned(),
    )
}

/// The database on a server, if one is named.
pub(super) fn server(sources: &Sources) -> Result<Option<Server>, ConfigError> {
    let server = any_server(sources)?;
    Ok((!server.url.is_empty()).then_some(server))
}

/// How a server is used; its URL may be empty.
pub(super) fn any_server(sources: &Sources) -> Result<Server, ConfigError> {
    let url = sources.string("POSTGRES_URL")?;
    let range = CONNECTIONS_LEAST..=CONNECTIONS_MOST;
    let expected = format!("a number from {CONNECTIONS_LEAST} to {CONNECTIONS_MOST}");
    let connections = sources.read("POSTGRES_MAX_CONNS", &expected, |text| {
        let count = text.parse::<usize>().ok();
        count.filter(|count| range.contains(count))
    })?;
    let startup = sources.positive_duration("STARTUP_TIMEOUT")?;
    Ok(Server {
        url: url.as_str().into(),
        max_connections: u32::try_from(connections).unwrap_or(u32::MAX),
        min_connections: sources.number("POSTGRES_MIN_CONNS")?,
        idle: sources.duration("POSTGRES_MAX_CONN_IDLE_TIME")?,
        // What is wrong is named before the time is over.
        patience: startup.saturating_sub(startup / 10),
    })
}

fn origins(sources: &Sources) -> Result<Option<Origins>, ConfigError> {
    let name = "CORS_ALLOWED_ORIGINS";
    let list = sources.string(name)?;
    let origins = Origins::parse(&list).map_err(|error| ConfigError::Value {
        setting: sources.given_as(name),
        value: list.clone(),
        expected: format!("a list of origins like https://app.example.com: {error}"),
    })?;
    Ok(sources.truth("CORS_ENABLED")?.then_some(origins))
}

/// A number; one that is not above 0 means the default (`config-and-cli.md` §2).
fn above_zero(sources: &Sources, name: &str, default: usize) -> Result<usize, ConfigError> {
    let number = usize::try_from(sources.number::<i64>(name)?).ok();
    Ok(number.filter(|number| *number > 0).unwrap_or(default))
}

fn metrics_bearer(sources: &Sources) -> Result<Option<Bearer>, ConfigError> {
    let secret = sources.string("METRICS_BEARER")?;
    if secret.is_empty() && sources.truth("METRICS_REQUIRE_AUTH")? {
        return Err(ConfigError::Together(format!(
            "{}=true needs CYODA_METRICS_BEARER, or CYODA_METRICS_BEARER_FILE",
            sources.given_as("METRICS_REQUIRE_AUTH")
        )));
    }
    Ok((!secret.is_empty()).then(|| Bearer::new(&secret)))
}

/// The authorization with the token of the settings. It is never printed.
fn authorization(sources: &Sources) -> Result<Option<AsciiMetadataValue>, ConfigError> {
    let token = sources.string("TOKEN")?;
    if token.is_empty() {
        return Ok(None);
    }
    let value = AsciiMetadataValue::try_from(format!("Bearer {token}"));
    let mut value = value.map_err(|_| {
        ConfigError::Together(
            "INTERLOCK_TOKEN is not a token: it has characters that no token has".to_owned(),
        )
    })?;
    value.set_sensitive(true);
    Ok(Some(value))
}

/// The settings of runs (`runs.md` §9).
fn run_settings(sources: &Sources) -> Result<RunSettings, ConfigError> {
    Ok(RunSettings {
        limits: program::Limits {
            steps_max: sources.count("RUNS_MAX_STEPS")? as u64,
            depth_max: u32::try_from(sources.count("RUNS_MAX_CHILD_DEPTH")?).unwrap_or(u32::MAX),
            payload_max: sources.count("RUNS_MAX_INPUT_BYTES")?,
        },
        tasks_wait: sources.duration("TASKS_WAIT")?,
        search_timeout: sources.positive_duration("SEARCH_TIMEOUT")?,
        connectors_timeout: sources.positive_duration("CONNECTORS_TIMEOUT")?,
        sync_timeout: sources.duration("RUNS_SYNC_TIMEOUT")?,
        stored_bytes_max: tenant_limits(sources)?.stored_bytes,
        one_manager_per_tick: sources.truth("MANAGER_ONE_PER_TICK")?,
        ..RunSettings::DEFAULT
    })
}

fn data_file(environment: &Variables) -> Result<PathBuf, ConfigError> {
    let folder = home_folder(environment, "XDG_DATA_HOME", ".local/share");
    let missing = || {
        ConfigError::Together(
            "neither XDG_DATA_HOME nor HOME is set; set CYODA_SQLITE_PATH to the database file"
                .to_owned(),
        )
    };
    Ok(folder.ok_or_else(missing)?.join("interlock/interlock.db"))
}

/// A prefix of paths: empty, or with a leading slash and without a trailing one.
fn path_prefix(sources: &Sources, name: &str) -> Result<String, ConfigError> {
    let is_plain = |part: &str| {
        let mut bytes = part.bytes();
        let is_name = !part.is_empty() && part != "." && part != "..";
        is_name && bytes.all(|byte| byte.is_ascii_alphanumeric() || b"._~-".contains(&byte))
    };
    let expected = "a path like /api, of letters, digits and ._~-";
    sources.read(name, expected, |given| {
        let path = given.trim_matches('/');
        if path.is_empty() {
            return Some(String::new());
        }
        path.split('/').all(is_plain).then(|| format!("/{path}"))
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::app::{
        settings::{Kind, OURS, SETTINGS, Setting, THEIRS},
        sources::read_file,
    };

    fn variables(pairs: &[(&str, &str)]) -> Variables {
        pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    #[test]
    fn a_folder_in_place_of_a_file_is_a_warning() {
        let mut warnings = Vec::new();
        let read = read_file(Path::new("src"), &mut warnings);
        assert!(matches!(read, Ok(None)), "{read:?}");
        assert_eq!(warnings.len(), 1, "{warnings:?}");
    }

    #[test]
    fn a_malformed_line_of_ours_is_an_error_and_one_of_others_a_warning() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("some.env");
        let mut warnings = Vec::new();
        let mut read = |text: &[u8]| {
            std::fs::write(&path, text).expect("writable");
            read_file(&path, &mut warnings)
        };
        let found = read(b"CYODA_HTTP_PORT=1\nnot a line\nCYODA_GRPC_PORT=2\n");
        assert_eq!(found.expect("valid").expect("there").len(), 2);
        for text in [
            "A=1\nCYODA_IAM_MODE: jwt\n",
            "\nINTERLOCK_SECRET=s3cr et \"x\n",
        ] {
            let error = read(text.as_bytes()).expect_err("malformed").to_string();
            assert!(error.contains("some.env, line 2: "), "{error}");
            assert!(!error.contains("jwt") && !error.contains("s3cr"), "{error}");
        }
        let error = read(b"A=\xff\n").expect_err("not UTF-8").to_string();
        assert!(error.contains("cannot be read"), "{error}");
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(
            warnings[0].ends_with("some.env, line 2: this is not a setting"),
            "{warnings:?}"
        );
    }

    #[test]
    fn a_context_path_is_a_plain_path() {
        assert_eq!(
            read(&[("CYODA_CONTEXT_PATH", "/v1.0/x_y-~/")])
                .expect("valid")
                .context_path,
            "/v1.0/x_y-~"
        );
        for path in [
            "/{x}", "/{*x}", "/:x", "/a b", "/ü", "a//b", "/a/../b", "%2f",
        ] {
            let error = read(&[("CYODA_CONTEXT_PATH", path)])
                .expect_err(path)
                .to_string();
            assert!(error.contains("CYODA_CONTEXT_PATH"), "{error}");
        }
    }

    fn read(pairs: &[(&str, &str)]) -> Result<Config, ConfigError> {
        let mut environment = variables(&[("HOME", "/home/someone")]);
        environment.extend(variables(pairs));
        Config::read(Sources {
            sources: vec![environment],
            warnings: Vec::new(),
        })
    }

    #[test]
    fn defaults_are_the_documented_ones() {
        let config = read(&[]).expect("defaults");
        assert_eq!(
            (
                config.listen.http.port(),
                config.listen.grpc.port(),
                config.listen.admin.port()
            ),
            (8080, 9090, 9091)
        );
        assert_eq!(config.context_path, "/api");
        assert!(
            matches!(config.storage.place, DatabaseLocation::File(path) if path == Path::new("/home/someone/.local/share/interlock/interlock.db"))
        );
        assert!(config.warnings.is_empty(), "{:?}", config.warnings);
    }

    #[test]
    fn settings_that_let_everybody_or_nobody_in_are_warned_of() {
        let client = [
            ("CYODA_BOOTSTRAP_CLIENT_ID", "first"),
            ("CYODA_BOOTSTRAP_CLIENT_SECRET", "s3cret"),
        ];
        for (pairs, says) in [
            (
                &[("CYODA_SUPPRESS_BANNER", "true")][..],
                "is mocked although",
            ),
            (
                &[("CYODA_BOOTSTRAP_ROLES", "")][..],
                "CYODA_BOOTSTRAP_ROLES is empty",
            ),
        ] {
            let config = read(&[&client, pairs].concat()).expect("valid");
            let mut warnings = config.warnings.iter();
            assert!(warnings.any(|line| line.contains(says)), "{says}");
        }
        let empty = read(&[("CYODA_IAM_MODE", "")]).expect("the default");
        assert!(empty.warnings.is_empty(), "{:?}", empty.warnings);
    }

    #[test]
    fn a_client_needs_no_place_for_a_database() {
        for pairs in [&[][..], &[("CYODA_STORAGE_BACKEND", "postgres")]] {
            let sources = || Sources {
                sources: vec![variables(pairs)],
                warnings: Vec::new(),
            };
            assert!(Config::read(sources()).is_err());
            Config::of_client(sources()).expect("valid");
        }
        let wrong = &[("CYODA_STORAGE_BACKEND", "paper")];
        let sources = Sources {
            sources: vec![variables(wrong)],
            warnings: Vec::new(),
        };
        assert!(Config::of_client(sources).is_err());
    }

    #[test]
    fn our_prefix_wins_within_a_source() {
        let config = read(&[
            ("CYODA_HTTP_PORT", "1"),
            ("INTERLOCK_HTTP_PORT", "2"),
            ("CYODA_GRPC_PORT", "3"),
        ])
        .expect("valid");
        assert_eq!(
            (config.listen.http.port(), config.listen.grpc.port()),
            (2, 3)
        );
    }

    #[test]
    fn a_value_that_does_not_parse_is_reported_with_its_name() {
        for (name, value) in [
            ("CYODA_HTTP_PORT", "many"),
            ("INTERLOCK_HTTP_PORT", "70000"),
            ("CYODA_STARTUP_TIMEOUT", "soon"),
            ("CYODA_STORAGE_BACKEND", "paper"),
            ("CYODA_LOG_LEVEL", "loud"),
            ("CYODA_SQLITE_AUTO_MIGRATE", "perhaps"),
            ("CYODA_IAM_MODE", "passport"),
            ("INTERLOCK_STREAM_MAX_IN_FLIGHT", "0"),
            ("CYODA_OTEL_ENABLED", "perhaps"),
            ("INTERLOCK_IDLE_TIMEOUT", "18446744073709551615s"),
            ("INTERLOCK_START_CHECK_TIME", "101y"),
            ("INTERLOCK_WASM_CONCURRENCY", "9223372036854775807"),
            ("CYODA_POSTGRES_MAX_CONNS", "10001"),
            ("INTERLOCK_ROUTES_PREFIX", "/{x}/a b"),
        ] {
            let error = read(&[(name, value)]).expect_err(name).to_string();
            assert!(error.contains(name) && error.contains(value), "{error}");
        }
    }

    #[test]
    fn no_setting_falls_back_silently() {
        for setting in SETTINGS {
            if matches!(setting.kind, Kind::Text | Kind::List | Kind::Secret) {
                continue;
            }
            for prefix in [OURS, THEIRS] {
                let name = format!("{prefix}{}", setting.name);
                let error = read(&[(&name, "\u{bf}")]).map(|_| ()).expect_err(&name);
                let message = error.to_string();
                assert!(
                    message.starts_with(&format!("{name}=`\u{bf}` is not ")),
                    "{message}"
                );
            }
        }
    }

    #[test]
    fn what_cannot_be_had_together_is_refused() {
        let secret = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
        let cluster = [
            ("CYODA_CLUSTER_ENABLED", "true"),
            ("CYODA_NODE_ID", "a"),
            ("CYODA_HMAC_SECRET", secret),
            ("CYODA_STORAGE_BACKEND", "postgres"),
            ("CYODA_POSTGRES_URL", "postgres://u@host/db"),
        ];
        read(&cluster).expect("a cluster");
        for (pairs, expected) in [
            (
                &[("CYODA_REQUIRE_JWT", "true")][..],
                "CYODA_REQUIRE_JWT=true",
            ),
            (
                &[("INTERLOCK_METRICS_REQUIRE_AUTH", "1")],
                "INTERLOCK_METRICS_REQUIRE_AUTH",
            ),
            (
                &[("CYODA_BOOTSTRAP_CLIENT_ID", "x")],
                "BOOTSTRAP_CLIENT_SECRET",
            ),
            (
                &[("CYODA_BOOTSTRAP_CLIENT_SECRET", "x")],
                "BOOTSTRAP_CLIENT_ID",
            ),
            (
                &[("CYODA_IAM_TRUSTED_KEY_MAX_PER_TENANT", "-1")],
                "at least 0",
            ),
            (
                &[("CYODA_IAM_KEYPAIR_DEFAULT_VALIDITY_DAYS", "0")],
                "above 0",
            ),
            (&[("INTERLOCK_MAX_RUN_TIME", "0s")], "above 0"),
            (&[("INTERLOCK_SEARCH_TIMEOUT", "0ms")], "above 0"),
            (&cluster[..1], "CYODA_NODE_ID"),
            (&cluster[..2], "CYODA_HMAC_SECRET"),
            (
                &[cluster[0], cluster[1], ("CYODA_HMAC_SECRET", &secret[..62])],
                "32 bytes",
            ),
            (&cluster[..3], "CYODA_STORAGE_BACKEND=postgres"),
            (&[("CYODA_NODE_ADDR", "host:8080")], "http://"),
            (&[("CYODA_GRPC_NODE_ADDR", "host")], "host:9090"),
            (
                &[("CYODA_CORS_ALLOWED_ORIGINS", "https://a.example:443")],
                "CYODA_CORS_ALLOWED_ORIGINS",
            ),
        ] {
            let error = read(pairs).map(|_| ()).expect_err(expected).to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn what_is_nearly_a_setting_of_existing_deployments_is_warned_of() {
        let config = read(&[
            ("CYODA_IAM_MOD", "jwt"),
            ("CYODA_HTTP_PROT", "1"),
            ("CYODA_TASK_LEASE", "1s"),
            ("CYODA_HOST", "x"),
            ("CYODA_HTTP_URL", "x"),
        ])
        .expect("valid");
        assert_eq!(
            config.warnings,
            [
                "CYODA_HTTP_PROT is not a setting; did you mean CYODA_HTTP_PORT?",
                "CYODA_IAM_MOD is not a setting; did you mean CYODA_IAM_MODE?",
                "CYODA_TASK_LEASE is not a setting; did you mean INTERLOCK_TASKS_LEASE?",
            ]
        );
    }

    #[test]
    fn the_token_of_commands_is_never_shown() {
        let config = read(&[("INTERLOCK_TOKEN", "t0ken")]).expect("valid");
        let value = config.authorization.clone().expect("it is there");
        assert_eq!(value.to_str().expect("text"), "Bearer t0ken");
        assert!(!format!("{config:?}").contains("t0ken"));
        let error = read(&[("INTERLOCK_TOKEN", "t0ken\u{7}")]).expect_err("no token");
        assert!(!error.to_string().contains("t0ken"), "{error}");
        assert!(read(&[]).expect("valid").authorization.is_none());
    }

    #[test]
    fn what_has_no_effect_or_no_meaning_is_warned_of() {
        let config = read(&[
            ("CYODA_OTEL_ENABLED", "true"),
            ("INTERLOCK_HTP_PORT", "1"),
            ("CYODA_UNHEARD_OF", "1"),
            ("CYODA_SEED_NODES", "one:7946,two:7946"),
            ("CYODA_TX_TTL", "30s"),
            ("CYODA_SCHEDULER_COORDINATOR", "lowest-node-id"),
            ("CYODA_IAM_MODE_FILE", "/run/mode"),
        ])
        .expect("valid");
        assert_eq!(
            config.warnings,
            [
                "CYODA_OTEL_ENABLED has no effect yet",
                "CYODA_TX_TTL has no effect: a transaction ends with the request and the call that it belongs to",
                "CYODA_SEED_NODES has no effect: which nodes there are is in the database",
                "INTERLOCK_HTP_PORT is not a setting; did you mean INTERLOCK_HTTP_PORT?",
                "CYODA_IAM_MODE_FILE has no effect: only secrets are read from files; set CYODA_IAM_MODE itself",
            ]
        );
    }

    #[test]
    fn files_come_after_the_environment_and_profiles_before_other_files() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| {
            std::fs::write(folder.path().join(name), text).expect("writable");
        };
        write(
            ".env",
            "CYODA_PROFILES=a,b,../c\nCYODA_HTTP_PORT=1\nCYODA_GRPC_PORT=1\nCYODA_ADMIN_PORT=1\n",
        );
        write(".env.a", "CYODA_HTTP_PORT=2\nCYODA_GRPC_PORT=2\n");
        write(".env.b", "CYODA_HTTP_PORT=3\n");
        write(
            "user.env",
            "CYODA_CONTEXT_PATH=/user/\nCYODA_LOG_LEVEL=warn\n",
        );
        write("system.env", "CYODA_LOG_LEVEL=error\n");
        let user = folder.path().join("user.env");
        let system = folder.path().join("system.env");
        let environment = variables(&[("HOME", "/h"), ("CYODA_ADMIN_PORT", "9")]);
        let config = Config::read(
            Sources::new(environment, folder.path(), Some(&user), &system).expect("readable"),
        )
        .expect("valid");
        assert_eq!(
            (
                config.listen.http.port(),
                config.listen.grpc.port(),
                config.listen.admin.port()
            ),
            (3, 2, 9)
        );
        assert_eq!(
            (config.context_path.as_str(), config.log_level),
            ("/user", Level::WARN)
        );
        assert_eq!(config.warnings.len(), 1, "{:?}", config.warnings);
    }

    #[test]
    fn a_secret_may_be_in_a_file_which_must_be_there() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("secret");
        std::fs::write(&path, "s3cret\n").expect("writable");
        let sources = |path: &Path| Sources {
            sources: vec![variables(&[
                ("CYODA_HMAC_SECRET_FILE", &path.to_string_lossy()),
                ("CYODA_HMAC_SECRET", "other"),
            ])],
            warnings: Vec::new(),
        };
        let setting = Setting::find("HMAC_SECRET").expect("a setting");
        assert_eq!(sources(&path).text(setting).expect("readable").1, "s3cret");
        let mut layered = sources(&path);
        for (environment, expected) in [
            (&[("CYODA_HMAC_SECRET", "newer")][..], "newer"),
            (&[("CYODA_HMAC_SECRET_FILE", "")][..], "s3cret"),
        ] {
            layered.sources.insert(0, variables(environment));
            assert_eq!(layered.text(setting).expect("readable").1, expected);
            layered.sources.remove(0);
        }
        assert!(matches!(
            sources(Path::new("/nowhere")).text(setting),
            Err(ConfigError::File { .. })
        ));
        // What is no path may be the secret.
        for (value, is_shown) in [
            ("/etc/nowhere/secret.pem", true),
            ("./nowhere.pem", true),
            ("-----BEGIN PRIVATE KEY-----\nMIIEv", false),
            ("postgres://u:p4ssword@h/x", false),
            ("/Q0hBTkdFTUUAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", false),
            ("/etc/x y", false),
            ("s3cret", false),
        ] {
            let error = sources(Path::new(value)).text(setting);
            let error = error.expect_err("nowhere").to_string();
            assert_eq!(error.contains(value), is_shown, "{error}");
            assert!(error.contains("CYODA_HMAC_SECRET_FILE"), "{error}");
        }
        std::fs::write(&path, "\u{feff}s3cret\r\n").expect("writable");
        assert_eq!(sources(&path).text(setting).expect("readable").1, "s3cret");
        std::fs::write(&path, "\u{feff}\n").expect("writable");
        let error = sources(&path).text(setting).expect_err("empty").to_string();
        assert!(error.ends_with("cannot be used: it is empty"), "{error}");
    }
}
