//! Every setting: its name, its default and its meaning. The help and the reference pages are
//! generated from this table.

use crate::help;

/// What kind of value a setting takes.
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
    /// A text that may be in a file, named by the setting with `_FILE`.
    Secret,
}

impl Kind {
    /// What it takes, in words.
    fn told(self) -> String {
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

/// Whether a setting does anything yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    Now,
    /// It is known from other deployments; what it is about does not exist yet.
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
    /// Whether only our prefix will do.
    pub ours: bool,
    pub meaning: &'static str,
}

impl Setting {
    /// The documented name.
    pub fn documented(&self) -> String {
        format!("{}{}", if self.ours { OURS } else { THEIRS }, self.name)
    }

    /// The setting, for those who ask for help.
    pub fn told(&self) -> help::Setting {
        help::Setting {
            name: self.documented(),
            kind: self.kind.told(),
            default: self.default,
            meaning: self.meaning,
            has_effect: self.effect == Effect::Now,
        }
    }

    pub fn find(name: &str) -> Option<&'static Self> {
        SETTINGS.iter().find(|setting| setting.name == name)
    }
}

/// The prefix that every setting may have, and that wins.
pub const OURS: &str = "INTERLOCK_";

/// The prefix that existing deployments know.
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

/// Every setting there is (`config-and-cli.md` §2, `stream.md` §6).
#[rustfmt::skip]
pub const SETTINGS: &[Setting] = &[
    now("PROFILES", List, "", "`a,b` also reads `.env.a` and `.env.b`; the later one wins"),
    now("HTTP_PORT", Port, "8080", "port of REST"),
    now("GRPC_PORT", Port, "9090", "port of gRPC"),
    now("ADMIN_PORT", Port, "9091", "port of `/livez`, `/readyz` and `/metrics`"),
    now("ADMIN_BIND_ADDRESS", Text, "127.0.0.1", "address of that port; `0.0.0.0` in containers"),
    ours("TLS_CERT_FILE", Text, "", "a file with the certificate of REST and gRPC, and those between it and its authority, in PEM; with it both speak TLS only"),
    ours("TLS_KEY_FILE", Text, "", "a file with the private key of that certificate"),
    ours("TLS_CLIENT_CA_FILE", Text, "", "a file with authorities: who has no certificate of one of them is not let in"),
    now("CONTEXT_PATH", Text, "/api", "what REST paths begin with; empty for nothing"),
    now("STORAGE_BACKEND", Choice(&["sqlite", "memory"]), "sqlite", "`sqlite` is a file, `memory` is SQLite in memory"),
    now("SQLITE_PATH", Text, "", "the database file; by default `interlock/interlock.db` in `$XDG_DATA_HOME` or `~/.local/share`"),
    now("SQLITE_AUTO_MIGRATE", Truth, "true", "bring an older database up to date at start"),
    now("SQLITE_BUSY_TIMEOUT", Duration, "5s", "how long a lock is waited for"),
    now("SQLITE_CACHE_SIZE", Number, "64000", "page cache of all connections together, in KiB"),
    now("SQLITE_SEARCH_SCAN_LIMIT", Number, "100000", "how many entities a search may look at by a pattern (`MATCHES_PATTERN`)"),
    ours("DURABILITY", Choice(&["full", "relaxed"]), "full", "`relaxed`: a crash of the machine may lose the last moments"),
    now("STARTUP_TIMEOUT", Duration, "30s", "how long opening the storage may take"),
    now("LOG_LEVEL", Choice(&["debug", "info", "warn", "error"]), "info", "what is logged"),
    now("SUPPRESS_BANNER", Truth, "false", "do not warn at start that authentication is mocked"),
    now("ERROR_RESPONSE_MODE", Choice(&["sanitized", "verbose"]), "sanitized", "`verbose` tells callers the cause of internal errors; for development"),
    now("MAX_STATE_VISITS", Number, "10", "how often one cascade may be in one state"),
    ours("MAX_CALLS_OUT", Number, "10000", "calls of members that one tenant may have out at once"),
    ours("MAX_RUN_TIME", Duration, "10m", "how long one write may take, with everything members do in it"),
    now("TX_TOKEN_TTL", Duration, "90s", "how long a member may join a transaction, at least"),
    now("DISPATCH_WAIT_TIMEOUT", Duration, "5s", "how long a member with the required tags is waited for"),
    ours("DISPATCH_RESPONSE_TIMEOUT", Duration, "30s", "how long a member may take to answer where the workflow does not say"),
    now("SCHEDULER_ENABLED", Truth, "true", "fire timers, and go on with runs that a crash has interrupted"),
    now("SCHEDULER_EXPIRY_GRACE", Duration, "100ms", "how much later than its `timeoutMs` says a timer still counts as late, not as expired"),
    now("SCHEDULER_REDISPATCH_BACKOFF", Duration, "30s", "how long is waited before a timer that failed is tried again"),
    now("KEEPALIVE_INTERVAL", Number, "10", "how often members are probed, in seconds"),
    now("KEEPALIVE_TIMEOUT", Number, "30", "how long a member may be silent, in seconds"),
    ours("STREAM_MAX_IN_FLIGHT", Number, "256", "requests of one stream that are in work at once"),
    ours("STREAM_MAX_QUEUED", Number, "1024", "further requests of one stream that may wait"),
    ours("IDEMPOTENCY_TTL", Duration, "24h", "how long the outcome of a request with an idempotency key is given again to repeats"),
    ours("STREAM_SEND_TIMEOUT", Duration, "30s", "how long a stream's reader may leave its answers unread"),
    ours("GRPC_MAX_MESSAGE_BYTES", Number, "16777216", "the largest gRPC message that is taken, in bytes"),
    now("SEARCH_SNAPSHOT_TTL", Duration, "1h", "how long the result of a snapshot search is kept after its end"),
    now("SEARCH_REAP_INTERVAL", Duration, "5m", "how often results are removed that are kept no longer"),
    ours("SEARCH_INDEXES", Choice(&["adaptive", "declared", "off"]), "adaptive", "the indexes that searches use: the declared ones and those made where searches want them, only the declared ones, or none"),
    ours("INDEX_ADAPTIVE_VISITS", Number, "100000", "entities that searches look at in vain for want of an index before one is made; four times the model, if that is more"),
    ours("INDEX_ADAPTIVE_MAX", Number, "8", "indexes that nobody declared that a model may have"),
    ours("INDEX_ADAPTIVE_UNUSED", Duration, "168h", "how long one of those is kept that no search uses"),
    now("STATS_GROUP_MAX", Number, "10000", "how many groups grouped statistics may have"),
    ours("COMPAT", Choice(&["documented", "cyoda-0.8"]), "documented", "what clients are used to: the documented behaviour, or that of cyoda 0.8"),
    ours("TENANT_REQUESTS_PER_SECOND", Number, "0", "requests that one tenant may make in a second, on average and at once; 0 for any number"),
    ours("TENANT_IN_FLIGHT", Number, "0", "requests of one tenant that may be in work or being answered at once; 0 for any number"),
    ours("TENANT_STORED_BYTES", Number, "0", "bytes that one tenant may have stored, roughly, before only deletions are done; 0 for any number"),
    now("METRICS_BEARER", Secret, "", "what `/metrics` asks for as `Authorization: Bearer …`; empty for nothing"),
    now("METRICS_REQUIRE_AUTH", Truth, "false", "do not start without `CYODA_METRICS_BEARER`"),
    now("CORS_ENABLED", Truth, "true", "let browsers use REST from pages of other origins"),
    now("CORS_ALLOWED_ORIGINS", List, "", "those origins, separated by commas; `*` for all, empty for those of this machine"),
    now("IAM_MODE", Choice(&["mock", "jwt"]), "mock", "who is calling; `mock`: everyone is one caller, `jwt`: whom their tokens name"),
    now("IAM_MOCK_ROLES", List, "ROLE_ADMIN,ROLE_M2M", "the roles of the mock caller"),
    now("IAM_MOCK_KIND", Choice(&["user", "service", "system"]), "user", "the kind of the mock caller"),
    ours("IAM_MOCK_CALLER", Truth, "false", "let the headers `x-mock-tenant`, `x-mock-user`, `x-mock-roles` and `x-mock-kind` choose the caller; for tests"),
    now("REQUIRE_JWT", Truth, "false", "do not start unless `CYODA_IAM_MODE` is `jwt`"),
    now("JWT_SIGNING_KEY", Secret, "", "the RSA private key that signs tokens, in PEM"),
    now("JWT_ISSUER", Text, "cyoda", "the `iss` of tokens, in those that are made and those that are taken"),
    now("JWT_AUDIENCE", Text, "", "the `aud` that tokens must have; empty for any"),
    now("JWT_EXPIRY_SECONDS", Number, "3600", "how long tokens are good"),
    now("BOOTSTRAP_CLIENT_ID", Text, "", "a client that may get tokens from the start"),
    now("BOOTSTRAP_CLIENT_SECRET", Secret, "", "its secret"),
    now("BOOTSTRAP_TENANT_ID", Text, "default-tenant", "its tenant"),
    now("BOOTSTRAP_USER_ID", Text, "admin", "the user as whom it calls"),
    now("BOOTSTRAP_ROLES", List, "ROLE_ADMIN,ROLE_M2M", "its roles"),
    now("JWT_BOOTSTRAP_AUDIENCE", Choice(&["client", "human"]), "client", "whose tokens the key of the settings is said to sign for tenants without a key pair: `client` or `human`"),
    now("IAM_KEYPAIR_DEFAULT_VALIDITY_DAYS", Number, "365", "how long key pairs are valid, in days, if nothing is said of that"),
    ours("KEY_ENCRYPTION_KEY", Secret, "", "what private keys are encrypted with that are stored: 32 bytes in base64; empty to store them as they are"),
    now("IAM_TRUSTED_KEY_REGISTRATION_ENABLED", Truth, "false", "let administrators say whose tokens are exchanged for ours"),
    now("IAM_TRUSTED_KEY_MAX_PER_TENANT", Number, "10", "how many keys one tenant may trust; 0 for any number"),
    now("IAM_TRUSTED_KEY_MAX_VALIDITY_DAYS", Number, "365", "how long they are trusted, in days, if nothing is said of that"),
    now("IAM_TRUSTED_KEY_MAX_JWK_PROPERTIES", Number, "20", "how many members the JWK of one may have"),
    now("IAM_M2M_ADMIN_ROLE_ENABLED", Truth, "false", "let administrators make clients that administer, too"),
    now("OIDC_REQUIRE_HTTPS", Truth, "true", "whether providers of tokens must speak TLS"),
    now("OIDC_ALLOW_PRIVATE_NETWORKS", Truth, "false", "let tenants name providers of tokens that only this machine or its network can reach"),
    now("OIDC_ROLES_CLAIM", Text, "roles", "the claim that says the roles in a provider's tokens, where the provider's registration does not"),
    now("OIDC_CONNECT_TIMEOUT_MS", Number, "5000", "how long connecting to a provider of tokens may take, in milliseconds"),
    now("OIDC_SOCKET_TIMEOUT_MS", Number, "5000", "how long its answer may take, all of it, in milliseconds"),
    now("OIDC_CONNECTION_REQUEST_TIMEOUT_MS", Number, "5000", "how long is waited while too many others are being asked, in milliseconds"),

    later("MODEL_CACHE_LEASE", Duration, "5m"),
    later("DEBUG", Text, ""),
    later("OTEL_ENABLED", Truth, "false"),
    later("SEARCH_MAX_SORT_KEYS", Number, "16"),
    later("TX_TTL", Duration, "60s"),
    later("TX_REAP_INTERVAL", Duration, "10s"),
    later("TX_OUTCOME_TTL", Duration, "5m"),
    later("POSTGRES_URL", Secret, ""),
    later("POSTGRES_MAX_CONNS", Number, "25"),
    later("POSTGRES_MIN_CONNS", Number, "5"),
    later("POSTGRES_MAX_CONN_IDLE_TIME", Duration, "5m"),
    later("POSTGRES_AUTO_MIGRATE", Truth, "true"),
    later("SCHEMA_SAVEPOINT_INTERVAL", Number, "64"),
    later("SCHEMA_EXTEND_MAX_RETRIES", Number, "8"),
    later("DISPATCH_FORWARD_TIMEOUT", Duration, "30s"),
    later("CLUSTER_ENABLED", Truth, "false"),
    later("NODE_ID", Text, ""),
    later("NODE_ADDR", Text, "http://localhost:8080"),
    later("GRPC_NODE_ADDR", Text, ""),
    later("GOSSIP_ADDR", Text, ":7946"),
    later("GOSSIP_STABILITY_WINDOW", Duration, "2s"),
    later("SEED_NODES", List, ""),
    later("HMAC_SECRET", Secret, ""),
    later("PROXY_TIMEOUT", Duration, "30s"),
    later("DISPATCH_ALLOW_LOOPBACK_FOR_TESTING", Truth, "false"),
    later("SCHEDULER_SCAN_INTERVAL", Duration, "1s"),
    later("SCHEDULER_BATCH_SIZE", Number, "100"),
    later("SCHEDULER_DISTRIBUTION", Text, "round-robin"),
    later("SCHEDULER_COORDINATOR", Text, "lowest-node-id"),
    // Read by programs that are members, not by the server.
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
