//! Every setting: its name, its default and its meaning. The help and the reference pages are
//! generated from this table.

use crate::help;

/// The type of a setting's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Text,
    /// A list separated by commas.
    List,
    /// `true` or `false`, also `1`, `t`, `0`, `f`.
    Truth,
    Number,
    Port,
    /// `500ms`, `30s`, `5m`, `1h`.
    Duration,
    Choice(&'static [&'static str]),
    /// Text that may be in a file, named by the setting with `_FILE`.
    Secret,
}

impl Kind {
    /// The expected value, in words.
    fn described(self) -> String {
        match self {
            Self::Text => "text".to_owned(),
            Self::List => "list, with commas".to_owned(),
            Self::Truth => "`true` or `false`".to_owned(),
            Self::Number => "number".to_owned(),
            Self::Port => "port".to_owned(),
            Self::Duration => "duration, like `30s`".to_owned(),
            Self::Choice(choices) => {
                let quoted: Vec<_> = choices.iter().map(|choice| format!("`{choice}`")).collect();
                quoted.join(" or ")
            }
            Self::Secret => "text, or `_FILE` with the name of a file".to_owned(),
        }
    }
}

/// Whether a setting has an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    Now,
    /// Known from other deployments; its feature does not exist yet.
    Later,
}

/// One setting.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// The name without its prefix.
    pub name: &'static str,
    pub kind: Kind,
    /// As it would be written; empty if there is none.
    pub default: &'static str,
    pub effect: Effect,
    /// Whether only our prefix is accepted.
    pub ours: bool,
    pub meaning: &'static str,
}

impl Setting {
    /// The documented name.
    pub fn documented(&self) -> String {
        format!("{}{}", if self.ours { OURS } else { THEIRS }, self.name)
    }

    /// The setting, as the help describes it.
    pub fn described(&self) -> help::Setting {
        help::Setting {
            name: self.documented(),
            kind: self.kind.described(),
            default: self.default,
            meaning: self.meaning,
            has_effect: self.effect == Effect::Now,
        }
    }

    pub fn find(name: &str) -> Option<&'static Self> {
        SETTINGS.iter().find(|setting| setting.name == name)
    }
}

/// The prefix that every setting may have, and that takes precedence.
pub const OURS: &str = "INTERLOCK_";

/// The prefix of existing deployments.
pub const THEIRS: &str = "CYODA_";

const fn now(
    name: &'static str,
    kind: Kind,
    default: &'static str,
    meaning: &'static str,
) -> Setting {
    Setting {
        name,
        kind,
        default,
        effect: Effect::Now,
        ours: false,
        meaning,
    }
}

const fn ours(
    name: &'static str,
    kind: Kind,
    default: &'static str,
    meaning: &'static str,
) -> Setting {
    Setting {
        ours: true,
        ..now(name, kind, default, meaning)
    }
}

const fn later(name: &'static str, kind: Kind, default: &'static str) -> Setting {
    Setting {
        effect: Effect::Later,
        ..now(name, kind, default, "")
    }
}

use Kind::{Choice, Duration, List, Number, Port, Secret, Text, Truth};

/// Every setting (`config-and-cli.md` §2, `stream.md` §6).
#[rustfmt::skip]
pub const SETTINGS: &[Setting] = &[
    now("PROFILES", List, "", "`a,b` also reads `.env.a` and `.env.b`; later profiles take precedence"),
    now("HTTP_PORT", Port, "8080", "port of REST"),
    now("GRPC_PORT", Port, "9090", "port of gRPC"),
    now("ADMIN_PORT", Port, "9091", "port of `/livez`, `/readyz` and `/metrics`"),
    now("ADMIN_BIND_ADDRESS", Text, "127.0.0.1", "address of that port; `0.0.0.0` in containers"),
    ours("BIND_ADDRESS", Text, "", "address that REST and gRPC listen on; empty for all addresses, or for `127.0.0.1` while authentication is mocked"),
    ours("CONNECTIONS_MAX", Number, "0", "connections to REST and gRPC at once; 0 for what the process's file limit allows, at most 16384"),
    ours("CONNECTIONS_PER_ADDRESS", Number, "4096", "connections of one address, or of one IPv6 network (/64); 0 for no limit, as behind a proxy"),
    ours("HEADER_TIMEOUT", Duration, "10s", "time limit for the head of a request, or the HTTP/2 preface"),
    ours("BODY_TIMEOUT", Duration, "20s", "how long a client may keep the server waiting for a body or a gRPC message"),
    ours("BODY_MIN_BYTES_PER_SECOND", Number, "1024", "minimum rate of a body after that time; 0 to wait again after every byte"),
    ours("IDLE_TIMEOUT", Duration, "60s", "how long a connection may have no open request or stream"),
    ours("WRITE_TIMEOUT", Duration, "30s", "how long a client may leave an answer unread"),
    ours("RECEIVING_BYTES", Number, "0", "bytes of requests that are not answered yet, and as many of answers that are not read yet; one tenant has half; 0 for an eighth of the memory, from 32 to 256 MB"),
    ours("TLS_CERT_FILE", Text, "", "PEM file with the certificate chain of REST and gRPC; enables TLS on both"),
    ours("TLS_KEY_FILE", Text, "", "PEM file with the private key of that certificate"),
    ours("TLS_CLIENT_CA_FILE", Text, "", "PEM file with certificate authorities; clients must present a certificate of one of them"),
    now("CONTEXT_PATH", Text, "/api", "prefix of all REST paths; empty for none"),
    now("STORAGE_BACKEND", Choice(&["sqlite", "memory", "postgres"]), "sqlite", "`sqlite` stores in a file, `memory` in memory only, `postgres` in a PostgreSQL database"),
    now("SQLITE_PATH", Text, "", "the database file; by default `interlock/interlock.db` in `$XDG_DATA_HOME` or `~/.local/share`"),
    now("SQLITE_AUTO_MIGRATE", Truth, "true", "migrate an older database at start"),
    now("SQLITE_BUSY_TIMEOUT", Duration, "5s", "how long to wait for a lock on the database file"),
    now("SQLITE_CACHE_SIZE", Number, "64000", "page cache of all connections together, in KiB"),
    now("SQLITE_SEARCH_SCAN_LIMIT", Number, "100000", "how many entities a search may test against a pattern (`MATCHES_PATTERN`)"),
    now("POSTGRES_URL", Secret, "", "the database, as `postgres://user:password@host:5432/name?sslmode=verify-full`; several hosts as `host1:5432,host2:5432`; required with `postgres`"),
    now("POSTGRES_MAX_CONNS", Number, "25", "connections at most: one writes, one asks for the newest commit, one waits for notifications, one says that the process is live, the others read; 6 to 10000"),
    now("POSTGRES_MIN_CONNS", Number, "5", "connections that stay open without being used"),
    now("POSTGRES_MAX_CONN_IDLE_TIME", Duration, "5m", "how long other connections stay open without being used"),
    now("POSTGRES_AUTO_MIGRATE", Truth, "true", "migrate an older database at start"),
    ours("DURABILITY", Choice(&["full", "relaxed"]), "full", "`relaxed` does not sync before answering: a crash of the machine may lose the last moments"),
    ours("START_CHECK_TIME", Duration, "2s", "how long the start looks for damaged pages of the database; 0 to skip the check"),
    ours("COMMIT_QUEUE_BYTES", Number, "67108864", "bytes of large writes (64 KiB and more) that may wait for their commit; one tenant has half"),
    now("STARTUP_TIMEOUT", Duration, "30s", "how long opening the storage may take"),
    now("LOG_LEVEL", Choice(&["debug", "info", "warn", "error"]), "info", "lowest level that is logged"),
    now("SUPPRESS_BANNER", Truth, "false", "do not warn at start that authentication is mocked"),
    now("ERROR_RESPONSE_MODE", Choice(&["sanitized", "verbose"]), "sanitized", "`verbose` returns the cause of internal errors to callers; for development only"),
    now("MAX_STATE_VISITS", Number, "10", "how often one cascade may enter the same state"),
    ours("MAX_CALLS_OUT", Number, "10000", "calls to members that one tenant may have in flight"),
    ours("MAX_RUN_TIME", Duration, "10m", "how long one write may take, including its calls to members"),
    now("TX_TOKEN_TTL", Duration, "90s", "how long a member may join a transaction, at least"),
    now("DISPATCH_WAIT_TIMEOUT", Duration, "5s", "how long to wait for a member with the required tags"),
    ours("DISPATCH_RESPONSE_TIMEOUT", Duration, "30s", "how long a member may take to answer, unless the workflow specifies it"),
    now("SCHEDULER_ENABLED", Truth, "true", "fire timers, and resume cascades that a crash interrupted"),
    now("SCHEDULER_EXPIRY_GRACE", Duration, "100ms", "how long a timer that is later than its `timeoutMs`, and so is not taken, is kept before it expires"),
    now("SCHEDULER_SCAN_INTERVAL", Duration, "1s", "the interval at which a process looks for timers of others, where several use one database"),
    now("SCHEDULER_REDISPATCH_BACKOFF", Duration, "30s", "pause before a failed timer is retried"),
    ours("RETRY_PAUSE", Duration, "1s", "first pause before work of a run, schedule or trigger that failed is retried; it doubles up to 300 times of this"),
    ours("MANAGER_INTERVAL", Duration, "1m", "how often managers are ticked; 0 on demand only"),
    ours("MANAGER_ONE_PER_TICK", Truth, "false", "have a tick that names no managers process only the first that is in progress"),
    ours("MANAGER_DIR", Text, "", "folder that has the files of one namespace, for people to edit; empty to keep them in the store"),
    ours("MANAGER_TENANT", Text, "", "tenant of that namespace; empty: that of the mocked caller, or of the bootstrap client"),
    ours("MANAGER_NAMESPACE", Text, "default", "the namespace whose files are in that folder"),
    ours("TOPICS_RETENTION", Duration, "168h", "how long events of topics are kept; 0 for ever"),
    ours("WASM_CONCURRENCY", Number, "4", "WebAssembly actions that are executed at the same moment"),
    ours("CONNECTORS_PRIVATE_NETWORKS", Text, "", "let connectors of uploaded bundles reach this machine and private networks: `true` or `false`; empty for `true` only while authentication is mocked"),
    ours("CONNECTORS_SQLITE_DIR", Text, "", "folder for the SQLite files of uploaded bundles, with a folder for each tenant; empty for none, or for any place while authentication is mocked"),
    ours("CONNECTORS_TIMEOUT", Duration, "30s", "time limit of a call (over HTTP, of each attempt), unless its connector sets another"),
    ours("CONNECTORS_MAX_CONNECTIONS", Number, "5", "connections of one connector, and calls of it at once"),
    ours("RUNS_MAX_STEPS", Number, "10000", "steps that a run may execute, repetitions included"),
    ours("RUNS_MAX_INPUT_BYTES", Number, "1048576", "bytes that an input, a mapped input or an output of a run may have; events that start runs have a limit of their own, the inputs of schedules and the requests of sagas are limited with their documents"),
    ours("RUNS_MAX_CHILD_DEPTH", Number, "10", "runs that may be above a run that a run starts"),
    ours("RUNS_SYNC_TIMEOUT", Duration, "30s", "how long a request waits for the end of a saga without delays and signals, and of the compensations of one that it cancels"),
    ours("RUNS_RETENTION", Duration, "0", "how long runs that have ended are kept, with their history and keys; 0 for ever"),
    ours("TASKS_WAIT", Duration, "24h", "how long a task waits for a worker, unless its action specifies it"),
    ours("DEFINITIONS", Text, "", "folder of the operator's definitions, which are applied at the start: `*.hcl` as one bundle, and step workflows"),
    ours("DEFINITIONS_TENANT", Text, "", "tenant of these definitions; empty: that of the mocked caller, or of the bootstrap client"),
    ours("ROUTES_PREFIX", Text, "", "prefix of the routes of sagas and flows on the REST port"),
    ours("TASKS_LEASE", Duration, "30s", "how long a worker keeps a task that it has pulled without extending it"),
    now("KEEPALIVE_INTERVAL", Number, "10", "interval between keep-alive probes of members, in seconds"),
    now("KEEPALIVE_TIMEOUT", Number, "30", "how long a member may be silent, in seconds"),
    ours("STREAM_MAX_IN_FLIGHT", Number, "256", "requests of one stream in flight at once"),
    ours("STREAM_MAX_QUEUED", Number, "1024", "further requests of one stream that may wait"),
    ours("IDEMPOTENCY_TTL", Duration, "24h", "how long the answer to a request with an idempotency key is kept for repeats"),
    ours("STREAM_SEND_TIMEOUT", Duration, "30s", "how long a client may leave the answers of its stream unread"),
    ours("GRPC_MAX_MESSAGE_BYTES", Number, "16777216", "largest accepted gRPC message, in bytes"),
    now("SEARCH_SNAPSHOT_TTL", Duration, "1h", "how long the result of a background search is kept after its end"),
    now("SEARCH_REAP_INTERVAL", Duration, "5m", "interval at which expired results are removed"),
    ours("SEARCH_TIMEOUT", Duration, "30s", "time limit for direct searches, searches of runs, grouped statistics and conditional deletions; background searches have none"),
    now("SEARCH_MAX_SORT_KEYS", Number, "16", "sort keys that a search may have; 0 for 16"),
    ours("SEARCH_INDEXES", Choice(&["adaptive", "declared", "off"]), "adaptive", "indexes used by searches: `adaptive`: declared and adaptive ones; `declared`: declared ones only; `off`: none"),
    ours("INDEX_ADAPTIVE_VISITS", Number, "100000", "entities that searches read for want of an index before one is created; at least four times the size of the model"),
    ours("INDEX_ADAPTIVE_MAX", Number, "8", "adaptive indexes per model"),
    ours("INDEX_ADAPTIVE_UNUSED", Duration, "168h", "how long an unused adaptive index is kept"),
    now("STATS_GROUP_MAX", Number, "10000", "groups that grouped statistics may return"),
    ours("COMPAT", Choice(&["documented", "cyoda-0.8"]), "documented", "compatibility profile: the documented behaviour, or that of cyoda 0.8"),
    ours("TENANT_REQUESTS_PER_SECOND", Number, "0", "requests per second of one tenant, also as a burst; 0 for no limit"),
    ours("TENANT_IN_FLIGHT", Number, "0", "requests of one tenant in flight at once; 0 for no limit"),
    ours("TENANT_STORED_BYTES", Number, "0", "bytes that one tenant may store, approximately; beyond, only deletions are accepted; 0 for no limit"),
    now("METRICS_BEARER", Secret, "", "bearer token required for `/metrics`; empty for none"),
    now("METRICS_REQUIRE_AUTH", Truth, "false", "refuse to start without `CYODA_METRICS_BEARER`"),
    now("CORS_ENABLED", Truth, "true", "allow browsers to use REST from other origins"),
    now("CORS_ALLOWED_ORIGINS", List, "", "those origins, separated by commas; `*` for all, empty for this machine only"),
    now("IAM_MODE", Choice(&["mock", "jwt"]), "mock", "authentication; `mock`: every caller is the same, `jwt`: bearer tokens"),
    now("IAM_MOCK_ROLES", List, "ROLE_ADMIN,ROLE_M2M", "roles of the mock caller"),
    now("IAM_MOCK_KIND", Choice(&["user", "service", "system"]), "user", "kind of the mock caller"),
    ours("IAM_MOCK_CALLER", Truth, "false", "the headers `x-mock-tenant`, `x-mock-user`, `x-mock-roles` and `x-mock-kind` select the caller; for tests"),
    ours("TOKEN", Secret, "", "bearer token that the commands of this program send to a service; `--metadata authorization=…` takes precedence"),
    now("REQUIRE_JWT", Truth, "false", "refuse to start unless `CYODA_IAM_MODE` is `jwt`"),
    now("JWT_SIGNING_KEY", Secret, "", "RSA private key that signs tokens: PEM, or base64 of the PEM"),
    now("JWT_ISSUER", Text, "cyoda", "`iss` of tokens, issued and accepted"),
    now("JWT_AUDIENCE", Text, "", "`aud` that tokens must have; empty for any"),
    now("JWT_EXPIRY_SECONDS", Number, "3600", "lifetime of issued tokens, in seconds"),
    now("BOOTSTRAP_CLIENT_ID", Text, "", "id of a client that exists from the start"),
    now("BOOTSTRAP_CLIENT_SECRET", Secret, "", "secret of that client"),
    now("BOOTSTRAP_TENANT_ID", Text, "default-tenant", "tenant of that client"),
    now("BOOTSTRAP_USER_ID", Text, "admin", "user id of that client"),
    now("BOOTSTRAP_ROLES", List, "ROLE_ADMIN,ROLE_M2M", "roles of that client"),
    now("JWT_BOOTSTRAP_AUDIENCE", Choice(&["client", "human"]), "client", "audience of the configured signing key for tenants without a key pair: `client` or `human`"),
    now("IAM_KEYPAIR_DEFAULT_VALIDITY_DAYS", Number, "365", "default validity of key pairs, in days"),
    ours("KEY_ENCRYPTION_KEY", Secret, "", "key that encrypts stored private keys: 32 bytes in base64; empty to store them unencrypted"),
    now("IAM_TRUSTED_KEY_REGISTRATION_ENABLED", Truth, "false", "let administrators register trusted keys for token exchange"),
    now("IAM_TRUSTED_KEY_MAX_PER_TENANT", Number, "10", "trusted keys per tenant; 0 for no limit"),
    now("IAM_TRUSTED_KEY_MAX_VALIDITY_DAYS", Number, "365", "default validity of trusted keys, in days"),
    now("IAM_TRUSTED_KEY_MAX_JWK_PROPERTIES", Number, "20", "members that the JWK of a trusted key may have"),
    now("IAM_M2M_ADMIN_ROLE_ENABLED", Truth, "false", "let administrators create clients with the administrator role"),
    now("OIDC_REQUIRE_HTTPS", Truth, "true", "require TLS for OpenID Connect providers"),
    now("OIDC_ALLOW_PRIVATE_NETWORKS", Truth, "false", "allow providers on this machine and on private networks"),
    now("OIDC_ROLES_CLAIM", Text, "roles", "claim with the roles, unless the provider's registration names another"),
    now("OIDC_CONNECT_TIMEOUT_MS", Number, "5000", "time limit for connecting to a provider, in milliseconds"),
    now("OIDC_SOCKET_TIMEOUT_MS", Number, "5000", "time limit for a provider's answer, in milliseconds"),
    now("OIDC_CONNECTION_REQUEST_TIMEOUT_MS", Number, "5000", "how long to wait while too many providers are being contacted, in milliseconds"),

    later("MODEL_CACHE_LEASE", Duration, "5m"),
    later("DEBUG", Text, ""),
    later("OTEL_ENABLED", Truth, "false"),
    later("TX_TTL", Duration, "60s"),
    later("TX_REAP_INTERVAL", Duration, "10s"),
    later("TX_OUTCOME_TTL", Duration, "5m"),
    later("SCHEMA_SAVEPOINT_INTERVAL", Number, "64"),
    later("SCHEMA_EXTEND_MAX_RETRIES", Number, "8"),
    now("DISPATCH_FORWARD_TIMEOUT", Duration, "30s", "cluster: how long another node may take to take over a call to one of its members"),
    now("CLUSTER_ENABLED", Truth, "false", "this process is a node of a cluster: nodes share one PostgreSQL database, their members and their transactions"),
    now("NODE_ID", Text, "", "the name of this node; required in a cluster; a process that starts with the name of another takes it over"),
    now("NODE_ADDR", Text, "http://localhost:8080", "the address of this node, with its scheme"),
    now("GRPC_NODE_ADDR", Text, "", "where other nodes reach this one by gRPC, as `host:9090`; by default the host of `CYODA_NODE_ADDR` with this node's gRPC port"),
    later("GOSSIP_ADDR", Text, ":7946"),
    later("GOSSIP_STABILITY_WINDOW", Duration, "2s"),
    later("SEED_NODES", List, ""),
    now("HMAC_SECRET", Secret, "", "the secret that all nodes of a cluster share: 32 bytes or more, best as hexadecimal digits (`openssl rand -hex 32`); it authenticates nodes to each other and signs transaction tokens"),
    now("PROXY_TIMEOUT", Duration, "30s", "cluster: how long the first answer to a request may take that is carried to the node of its transaction"),
    later("DISPATCH_ALLOW_LOOPBACK_FOR_TESTING", Truth, "false"),
    later("SCHEDULER_BATCH_SIZE", Number, "100"),
    later("SCHEDULER_DISTRIBUTION", Text, "round-robin"),
    later("SCHEDULER_COORDINATOR", Text, "lowest-node-id"),
    // Read by compute members, not by the server.
    later("COMPUTE_GRPC_ENDPOINT", Text, ""),
    later("COMPUTE_TOKEN", Text, ""),
    later("COMPUTE_HTTP_BASE", Text, ""),
];

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn settings_have_distinct_names_and_those_in_effect_a_meaning() {
        let names: HashSet<_> = SETTINGS.iter().map(|setting| setting.name).collect();
        assert_eq!(names.len(), SETTINGS.len());
        assert!(
            SETTINGS
                .iter()
                .all(|setting| setting.effect == Effect::Later || !setting.meaning.is_empty())
        );
    }
}
