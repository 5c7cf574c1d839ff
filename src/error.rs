//! Failures, and their two wire forms.
//!
//! May use: [`crate::id`].
//! Every module has its own error enum and maps it with [`Coded`] to the [`Code`] that a client
//! receives; [`Failure`] is what leaves an operation. The table in [`Code`] is the only place that
//! knows the wire form of a code (`errors.md` §2 and §3).

use std::{collections::BTreeSet, error::Error as StdError, fmt, time::Duration};

use http::StatusCode;
use parking_lot::Mutex;
use serde_json::Value;

use crate::id::Ticket;

/// Whether a retry may help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    Never,
    Later,
}

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal, $status:literal, $retry:ident;)*) => {
        /// The code of a failure. Clients distinguish failures by it, never by the status.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Code { $($(#[$doc])* $name,)* }

        impl Code {
            /// Every code this server can answer.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            const fn row(self) -> (&'static str, u16, Retry) {
                match self { $(Self::$name => ($text, $status, Retry::$retry),)* }
            }
        }
    };
}

codes! {
    /// The action takes no tasks until it is enabled.
    ActionDisabled = "ACTION_DISABLED", 409, Never;
    ActionNotFound = "ACTION_NOT_FOUND", 404, Never;
    /// A second join on a stream.
    AlreadyJoined = "ALREADY_JOINED", 409, Never;
    /// Syntax, unsupported formats, schema violations that are not about the type of a leaf.
    BadRequest = "BAD_REQUEST", 400, Never;
    BundleNotFound = "BUNDLE_NOT_FOUND", 404, Never;
    /// The caller cancelled the request.
    Cancelled = "CANCELLED", 499, Never;
    /// The stream of a member ended during a call.
    ComputeMemberDisconnected = "COMPUTE_MEMBER_DISCONNECTED", 503, Later;
    /// An operand that is not a value of any type the field is declared with.
    ConditionTypeMismatch = "CONDITION_TYPE_MISMATCH", 400, Never;
    /// Another transaction committed first.
    Conflict = "CONFLICT", 409, Later;
    /// The system that a connector stands for cannot be reached.
    ConnectorUnavailable = "CONNECTOR_UNAVAILABLE", 503, Later;
    /// Two aggregations of grouped statistics have one name.
    DuplicateAggregationAlias = "DUPLICATE_AGGREGATION_ALIAS", 400, Never;
    /// Grouped statistics name a path twice.
    DuplicateGroupBy = "DUPLICATE_GROUP_BY", 400, Never;
    /// Another node has not taken a call over.
    DispatchForwardFailed = "DISPATCH_FORWARD_FAILED", 503, Later;
    /// A member did not answer in time, in profiles with this code.
    DispatchTimeout = "DISPATCH_TIMEOUT", 503, Later;
    /// `If-Match` named another version.
    EntityModified = "ENTITY_MODIFIED", 412, Never;
    EntityNotFound = "ENTITY_NOT_FOUND", 404, Never;
    /// A feature that the settings disable.
    FeatureDisabled = "FEATURE_DISABLED", 404, Never;
    /// Evaluating a condition on one entity takes more work than the limit.
    EvaluationLimit = "EVALUATION_LIMIT", 400, Never;
    FileNotFound = "FILE_NOT_FOUND", 404, Never;
    /// The state of the row or entity is final: its state machine takes no more events.
    FinalState = "FINAL_STATE", 409, Never;
    Forbidden = "FORBIDDEN", 403, Never;
    /// A guard of a state machine cannot be evaluated.
    GuardError = "GUARD_ERROR", 400, Never;
    /// A guard of a state machine does not hold.
    GuardRejected = "GUARD_REJECTED", 400, Never;
    HelpTopicNotFound = "HELP_TOPIC_NOT_FOUND", 404, Never;
    /// The idempotency key belongs to another request.
    IdempotencyConflict = "IDEMPOTENCY_CONFLICT", 409, Never;
    /// Grouped statistics of more groups than are held in memory.
    GroupCardinalityExceeded = "GROUP_CARDINALITY_EXCEEDED", 422, Never;
    /// A leaf whose value fits none of the declared types.
    IncompatibleType = "INCOMPATIBLE_TYPE", 400, Never;
    IncidentNotFound = "INCIDENT_NOT_FOUND", 404, Never;
    InvalidAggregationField = "INVALID_AGGREGATION_FIELD", 400, Never;
    InvalidAggregationOp = "INVALID_AGGREGATION_OP", 400, Never;
    /// An unknown change level.
    InvalidChangeLevel = "INVALID_CHANGE_LEVEL", 400, Never;
    InvalidCondition = "INVALID_CONDITION", 400, Never;
    InvalidFieldPath = "INVALID_FIELD_PATH", 400, Never;
    /// A document has only some fields of a unique key, or one that is not a scalar.
    InvalidUniqueKey = "INVALID_UNIQUE_KEY", 422, Never;
    InvalidUniqueKeyDefinition = "INVALID_UNIQUE_KEY_DEFINITION", 422, Never;
    InvalidGroupByPath = "INVALID_GROUP_BY_PATH", 400, Never;
    /// The limit of grouped statistics.
    InvalidLimit = "INVALID_LIMIT", 400, Never;
    KeypairNotFound = "KEYPAIR_NOT_FOUND", 404, Never;
    /// A trusted key whose id another tenant has.
    KeyOwnedByDifferentTenant = "KEY_OWNED_BY_DIFFERENT_TENANT", 409, Never;
    MachineNotFound = "MACHINE_NOT_FOUND", 404, Never;
    M2mClientNotFound = "M2M_CLIENT_NOT_FOUND", 404, Never;
    /// Grouped statistics whose query cannot be read.
    MalformedRequest = "MALFORMED_REQUEST", 400, Never;
    /// Grouped statistics without `groupBy`.
    ManagerNotFound = "MANAGER_NOT_FOUND", 404, Never;
    MissingGroupBy = "MISSING_GROUP_BY", 400, Never;
    ModelAlreadyLocked = "MODEL_ALREADY_LOCKED", 409, Never;
    ModelAlreadyUnlocked = "MODEL_ALREADY_UNLOCKED", 409, Never;
    ModelHasEntities = "MODEL_HAS_ENTITIES", 409, Never;
    ModelNotFound = "MODEL_NOT_FOUND", 404, Never;
    ModelNotLocked = "MODEL_NOT_LOCKED", 409, Never;
    NoComputeMemberForTag = "NO_COMPUTE_MEMBER_FOR_TAG", 503, Later;
    /// Something unknown that has no code of its own.
    NotFound = "NOT_FOUND", 404, Never;
    NotImplemented = "NOT_IMPLEMENTED", 501, Never;
    OidcInvalidTenant = "OIDC_INVALID_TENANT", 400, Never;
    OidcProviderDuplicate = "OIDC_PROVIDER_DUPLICATE", 409, Never;
    OidcProviderInactive = "OIDC_PROVIDER_INACTIVE", 409, Never;
    OidcProviderNotFound = "OIDC_PROVIDER_NOT_FOUND", 404, Never;
    OidcSsrfBlocked = "OIDC_SSRF_BLOCKED", 400, Never;
    /// The connection was lost at commit; only a repeat with an idempotency key is safe.
    OutcomeUnknown = "OUTCOME_UNKNOWN", 503, Never;
    /// An object, a list or a scalar where the model has another of these.
    PolymorphicSlot = "POLYMORPHIC_SLOT", 400, Never;
    /// A patch without `If-Match`.
    PreconditionRequired = "PRECONDITION_REQUIRED", 428, Never;
    /// A search that only patterns decide would evaluate too many entities.
    ScanBudgetExhausted = "SCAN_BUDGET_EXHAUSTED", 400, Never;
    /// A schedule function returned an invalid schedule.
    ScheduleFunctionInvalidResult = "SCHEDULE_FUNCTION_INVALID_RESULT", 500, Never;
    /// A search that is not running cannot be cancelled.
    SearchJobAlreadyTerminal = "SEARCH_JOB_ALREADY_TERMINAL", 400, Never;
    SearchJobNotFound = "SEARCH_JOB_NOT_FOUND", 404, Never;
    SearchResultLimit = "SEARCH_RESULT_LIMIT", 400, Never;
    /// A search exceeded its time limit.
    SearchTimeout = "SEARCH_TIMEOUT", 503, Later;
    /// An internal error; the log has its cause under the ticket.
    ServerError = "SERVER_ERROR", 500, Never;
    /// A signal to a saga that does not wait for it.
    SignalNotAwaited = "SIGNAL_NOT_AWAITED", 400, Never;
    RunDefinitionDisabled = "RUN_DEFINITION_DISABLED", 409, Never;
    /// The chosen identifier belongs to another run.
    RunExists = "RUN_EXISTS", 409, Never;
    /// The run has ended; nothing changes it any more.
    RunFinished = "RUN_FINISHED", 409, Never;
    RunNotFound = "RUN_NOT_FOUND", 404, Never;
    RunDefinitionNotFound = "RUN_DEFINITION_NOT_FOUND", 404, Never;
    /// A damaged page of the database; only a backup helps.
    StorageDamaged = "STORAGE_DAMAGED", 500, Never;
    /// The storage is unavailable for writes; retry later.
    StorageUnavailable = "STORAGE_UNAVAILABLE", 503, Later;
    /// Another worker has the task now.
    TaskLeaseLost = "TASK_LEASE_LOST", 409, Never;
    TaskNotFound = "TASK_NOT_FOUND", 404, Never;
    /// A tenant has reached a limit.
    TenantLimitExceeded = "TENANT_LIMIT_EXCEEDED", 429, Later;
    TooManyRequests = "TOO_MANY_REQUESTS", 429, Later;
    TopicNotFound = "TOPIC_NOT_FOUND", 404, Never;
    TransactionExpired = "TRANSACTION_EXPIRED", 410, Never;
    TransactionNotFound = "TRANSACTION_NOT_FOUND", 404, Never;
    /// The node of a transaction is gone or cannot be reached.
    TransactionNodeUnavailable = "TRANSACTION_NODE_UNAVAILABLE", 503, Later;
    /// One transaction has more reads or writes than the limit.
    TransactionTooLarge = "TRANSACTION_TOO_LARGE", 413, Never;
    TransitionNotFound = "TRANSITION_NOT_FOUND", 404, Never;
    /// A tenant has reached the limit of trusted keys.
    TrustedKeyCapReached = "TRUSTED_KEY_CAP_REACHED", 400, Never;
    TrustedKeyNotFound = "TRUSTED_KEY_NOT_FOUND", 404, Never;
    Unauthorized = "UNAUTHORIZED", 401, Never;
    /// Another live entity has these values of a unique key.
    UniqueViolation = "UNIQUE_VIOLATION", 409, Never;
    UnknownEventType = "UNKNOWN_EVENT_TYPE", 400, Never;
    /// A key that is not an RSA key for SHA-256.
    UnsupportedAlgorithm = "UNSUPPORTED_ALGORITHM", 400, Never;
    /// A trusted key that is not an RSA key.
    UnsupportedKeyType = "UNSUPPORTED_KEY_TYPE", 400, Never;
    /// A patch in an unsupported format.
    UnsupportedMediaType = "UNSUPPORTED_MEDIA_TYPE", 415, Never;
    /// An import that breaks a static rule of workflows, or a document with errors.
    ValidationFailed = "VALIDATION_FAILED", 400, Never;
    WorkerNotFound = "WORKER_NOT_FOUND", 404, Never;
    WorkflowFailed = "WORKFLOW_FAILED", 400, Never;
    /// A definition of a version that the profile does not support.
    WorkflowSchemaVersionUnsupported = "WORKFLOW_SCHEMA_VERSION_UNSUPPORTED", 400, Never;
    WorkflowNotFound = "WORKFLOW_NOT_FOUND", 404, Never;
}

impl Code {
    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        self.row().0
    }

    /// The status over HTTP.
    pub fn status(self) -> StatusCode {
        StatusCode::from_u16(self.row().1).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    pub const fn retry(self) -> Retry {
        self.row().2
    }

    /// The meaning and the remedy, in Markdown.
    #[rustfmt::skip]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::ActionDisabled => "the action is disabled; enable it first",
            Self::ActionNotFound => "the action does not exist in this namespace, or belongs to another tenant; register it first",
            Self::AlreadyJoined => "the member has already joined on this stream; open another stream",
            Self::BadRequest => "the request cannot be read or does not match the model; the message names the place, correct it",
            Self::BundleNotFound => "the bundle does not exist in this namespace, or belongs to another tenant; apply it first",
            Self::Cancelled => "the caller cancelled the request; nothing was written",
            Self::ComputeMemberDisconnected => "the member's stream ended during a call, and the transition was not made: retry. With `properties.committedTransactionId`, what came before a processor with COMMIT_BEFORE_DISPATCH is stored",
            Self::ConditionTypeMismatch => "an operand is not a valid value of any type the field has; check the model",
            Self::Conflict => "another transaction committed first; read again, then write again",
            Self::ConnectorUnavailable => "the system that the connector stands for cannot be reached; retry later",
            Self::DuplicateAggregationAlias => "two aggregations have the same name; rename one with `as`",
            Self::DuplicateGroupBy => "`groupBy` names a path twice; remove one",
            Self::DispatchForwardFailed => "the node that the member is connected to has not taken the call over within `CYODA_DISPATCH_FORWARD_TIMEOUT`; nothing was written, retry",
            Self::DispatchTimeout => "a member did not answer in time; reserved, see `WORKFLOW_FAILED`",
            Self::EntityModified => "`If-Match` names another version than the current one; read again, then write again",
            Self::EntityNotFound => "the entity does not exist, did not exist at that time, or belongs to another tenant",
            Self::FeatureDisabled => "the feature is disabled; the message names the setting that enables it",
            Self::EvaluationLimit => "evaluating the condition on one entity takes too much work; test fewer or shorter fields",
            Self::FileNotFound => "no file is at that path in this namespace, or it belongs to another tenant; list the files",
            Self::FinalState => "the state in `properties.state` is final; no event leads out of it",
            Self::GuardError => "the guard of the transition cannot be evaluated, for instance because `data` lacks a member it reads; the message names it, and nothing was written",
            Self::GuardRejected => "the guard of the transition does not hold for `data`; nothing was written",
            Self::Forbidden => "the caller lacks the required role, or the transaction belongs to another tenant",
            Self::HelpTopicNotFound => "the topic does not exist; `GET help` below the context path lists all topics",
            Self::IdempotencyConflict => "the idempotency key was used for a different request; use a new key",
            Self::GroupCardinalityExceeded => "the query has more groups than `CYODA_STATS_GROUP_MAX`; narrow the condition or group by fewer fields",
            Self::IncompatibleType => "a value has none of the types of its field; `properties` names the field and its types",
            Self::InvalidAggregationField => "an aggregation needs the path of a single value, such as `$.amount`",
            Self::InvalidAggregationOp => "the aggregation is unknown; use `sum`, `avg`, `min`, `max` or `stdev`",
            Self::InvalidChangeLevel => "the change level is unknown; `properties.validValues` lists the valid ones",
            Self::InvalidCondition => "the condition cannot be evaluated, for instance because a pattern is invalid or too large",
            Self::InvalidFieldPath => "a condition or sort key names a field that the model does not have; check the path",
            Self::InvalidUniqueKey => "a unique key is only partly given, or one of its values is not a scalar; the message names the fields",
            Self::InvalidUniqueKeyDefinition => "the definition of a unique key is invalid; its fields must be scalars outside of lists",
            Self::InvalidGroupByPath => "`groupBy` accepts `state` and paths of single values",
            Self::InvalidLimit => "the limit of grouped statistics must be between 1 and `CYODA_STATS_GROUP_MAX`",
            Self::KeypairNotFound => "the key pair does not exist or belongs to another tenant, or no key pair signs for the audience",
            Self::KeyOwnedByDifferentTenant => "another tenant has a trusted key with this id; choose another id",
            Self::MachineNotFound => "the state machine does not exist in this namespace, or belongs to another tenant; apply its bundle first",
            Self::M2mClientNotFound => "the client does not exist or belongs to another tenant",
            Self::MalformedRequest => "the query of grouped statistics cannot be read; the message names the place",
            Self::ManagerNotFound => "no manager has that file in this namespace, or it belongs to another tenant; list the managers",
            Self::MissingGroupBy => "grouped statistics need `groupBy`",
            Self::ModelAlreadyLocked => "the model is locked; unlock it, or use another version",
            Self::ModelAlreadyUnlocked => "the model is not locked",
            Self::ModelHasEntities => "the model has entities; delete them first, or use another version",
            Self::ModelNotFound => "the model does not exist in this version; import it first",
            Self::ModelNotLocked => "the model is not locked; lock it before creating entities",
            Self::NoComputeMemberForTag => "no member with all required tags is connected; start one, then retry",
            Self::NotFound => "the resource does not exist",
            Self::NotImplemented => "this server does not support the operation",
            Self::OidcInvalidTenant => "OpenID Connect requires a tenant whose id is a UUID",
            Self::OidcProviderDuplicate => "the tenant already has a provider with this `wellKnownConfigUri`; `properties.id` names it",
            Self::OidcProviderInactive => "the provider is invalidated; reactivate it before changing it",
            Self::OidcProviderNotFound => "the provider does not exist or belongs to another tenant",
            Self::OidcSsrfBlocked => "the provider's address is not on the public internet; `CYODA_OIDC_ALLOW_PRIVATE_NETWORKS` permits it",
            Self::OutcomeUnknown => "the commit may or may not have happened; read before you repeat the request",
            Self::PolymorphicSlot => "a value is an object, a list or a scalar where the model has another of these; no change level permits that",
            Self::PreconditionRequired => "a patch requires `If-Match` with the transaction it is based on, or `*`",
            Self::RunDefinitionDisabled => "the definition, or this version of it, is disabled; enable it first",
            Self::RunExists => "another run has the `runId`; choose another, or leave it out",
            Self::RunFinished => "the run has ended, with the status in `properties.status`; nothing changes it any more",
            Self::RunNotFound => "there is no such run, or it belongs to another tenant",
            Self::RunDefinitionNotFound => "the definition does not exist in this namespace, not in this version, is of another kind than the start asks for, or belongs to another tenant; create it first",
            Self::ScanBudgetExhausted => "the search would test a pattern on more than `CYODA_SQLITE_SEARCH_SCAN_LIMIT` entities; add a condition that narrows it",
            Self::ScheduleFunctionInvalidResult => "the schedule function of a member returned an invalid schedule; fix the member",
            Self::SearchJobAlreadyTerminal => "the background search has ended; `properties.currentStatus` has its status",
            Self::SearchJobNotFound => "the background search does not exist, its result has expired, or it belongs to another tenant",
            Self::SearchResultLimit => "more entities match than `limit`; narrow the condition or raise the limit",
            Self::SearchTimeout => "the search took longer than `INTERLOCK_SEARCH_TIMEOUT`; narrow the condition, declare an index, or submit a background search",
            Self::ServerError => "internal error; the log has the cause under the ticket in the message",
            Self::SignalNotAwaited => "a saga takes only the signal that it waits for; `properties.awaited` names it",
            Self::StorageDamaged => "the requested data is on a damaged page of the database; the operator must restore a backup, see the log",
            Self::StorageUnavailable => "the storage is unavailable; retry later, and see the log",
            Self::TenantLimitExceeded => "the tenant has reached a limit set by the operator; `properties.limit` names it, `properties.retryAfterMs` says when to retry",
            Self::TooManyRequests => "too many requests are in flight or waiting, or their bytes, or those of answers that are not read, exceed `INTERLOCK_RECEIVING_BYTES`; read answers before sending more",
            Self::IncidentNotFound => "there is no open incident of this id, or it belongs to another tenant; it was retried, cancelled, or its work has moved on",
            Self::TopicNotFound => "the topic does not exist in this namespace, or belongs to another tenant; publish an event to it first",
            Self::TaskLeaseLost => "the worker no longer has the task: its lease has ended, and the task goes to another worker; stop working on it",
            Self::TaskNotFound => "there is no such task, or it belongs to another tenant",
            Self::TransactionExpired => "the transaction token has expired",
            Self::TransactionNotFound => "the transaction has already ended",
            Self::TransactionNodeUnavailable => "the node that began the transaction is gone or cannot be reached; nothing of the transaction was written unless it was committed before, repeat it as a whole",
            Self::TransactionTooLarge => "the transaction reads or writes too much; split it",
            Self::TransitionNotFound => "the current state has no manual transition of this name; `properties.availableTransitions` lists those it has",
            Self::TrustedKeyCapReached => "the tenant has reached `CYODA_IAM_TRUSTED_KEY_MAX_PER_TENANT` trusted keys; delete one",
            Self::TrustedKeyNotFound => "the trusted key does not exist or belongs to another tenant",
            Self::Unauthorized => "not authenticated: the token is missing or invalid, or a transaction token is forged",
            Self::UniqueViolation => "another entity has the same values of a unique key; change them, or that entity",
            Self::UnknownEventType => "the event type is unknown; `interlock events` lists all types",
            Self::UnsupportedAlgorithm => "only RS256 keys are supported",
            Self::UnsupportedKeyType => "only RSA keys are supported",
            Self::UnsupportedMediaType => "a patch is `application/merge-patch+json` or `application/json-patch+json`",
            Self::ValidationFailed => "a definition is invalid; the message names the place, and `properties.findings`, where it is there, everything that was found",
            Self::WorkerNotFound => "the worker is not registered in this namespace, or belongs to another tenant; register it again, as after a restart of the service",
            Self::WorkflowFailed => "a processor, a criterion or an engine limit failed the transition, which was not made. With `properties.committedTransactionId`, a processor with COMMIT_BEFORE_DISPATCH had committed what came before it: the entity `properties.entityId` is stored",
            Self::WorkflowSchemaVersionUnsupported => "the profile `cyoda-0.8` accepts the schema versions 1.1 to 1.3 only",
            Self::WorkflowNotFound => "the model has no imported workflow",
        }
    }
}

/// A name of a member that came from another node of the same version. There are few names, so each
/// is kept once for the life of the process.
pub fn member_name(name: &str) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock();
    if let Some(known) = names.get(name) {
        return known;
    }
    let kept: &'static str = Box::leak(name.into());
    names.insert(kept);
    kept
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An error that has a code.
pub trait Coded: StdError {
    fn code(&self) -> Code;

    /// Members for the `properties` of a problem document.
    fn properties(&self) -> Properties {
        Properties::new()
    }
}

/// The member of `properties` with the milliseconds after which to retry.
const RETRY_AFTER: &str = "retryAfterMs";

/// The beginning of the message if a payload cannot be read (`grpc.md` §5.1).
const OF_PAYLOAD: &str = "invalid payload: ";

/// Members of `properties`, beside `errorCode` and `retryable`.
pub type Properties = Vec<(&'static str, Value)>;

/// A failure of an operation, as it is returned.
#[derive(Debug, Clone)]
pub struct Failure {
    code: Code,
    message: String,
    properties: Properties,
    /// Set if it differs from the status of the code.
    status: Option<StatusCode>,
    origin: Origin,
    extra: Option<Box<Extra>>,
}

/// What few failures have.
#[derive(Debug, Clone, Default)]
struct Extra {
    /// Collected before the failure.
    warnings: Vec<String>,
    /// Members of the failed answer beside those of every answer.
    members: Properties,
}

/// The origin of a failure, which decides how each API returns it.
#[derive(Debug, Clone)]
enum Origin {
    /// The request could not be read: a gRPC status, an acknowledgement on a stream.
    Request,
    /// The operation rejected it: in-band.
    Operation,
    /// Internal error: in-band, the cause in the log only.
    Internal { ticket: Ticket, cause: String },
}

impl Failure {
    /// A rejection by an operation.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            properties: Properties::new(),
            status: None,
            origin: Origin::Operation,
            extra: None,
        }
    }

    /// A request that could not be read (`grpc.md` §5.1).
    pub fn malformed(message: impl Into<String>) -> Self {
        Self {
            origin: Origin::Request,
            ..Self::new(Code::BadRequest, message)
        }
    }

    /// An event whose type is not a request type.
    pub fn unknown_type(kind: &str) -> Self {
        let kind = shown(kind);
        Self {
            origin: Origin::Request,
            ..Self::new(
                Code::UnknownEventType,
                format!(
                    "`{kind}` is not a request type of this server; `interlock events` lists them"
                ),
            )
        }
    }

    /// An internal error; `cause` is only logged.
    pub fn internal(cause: impl Into<String>) -> Self {
        let ticket = Ticket::fresh();
        Self {
            code: Code::ServerError,
            message: format!("internal error [ticket: {ticket}]"),
            properties: Properties::new(),
            status: None,
            origin: Origin::Internal {
                ticket,
                cause: cause.into(),
            },
            extra: None,
        }
    }

    /// Marks this as a failure of the request itself, not of its operation.
    #[must_use]
    pub fn in_request(mut self) -> Self {
        self.origin = Origin::Request;
        self
    }

    /// Removes the line and column that `serde_json` appends from a failure to read a payload that
    /// was made of a request, because the caller has not seen that payload. Messages about a part
    /// of it keep their place.
    #[must_use]
    pub fn without_place(mut self) -> Self {
        let place = self.message.rfind(" at line ");
        let is_of_all = self.message.starts_with(OF_PAYLOAD);
        let place = place.filter(|_| is_of_all).filter(|at| {
            let rest = &self.message[at + " at line ".len()..];
            let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
            rest.split_once(" column ")
                .is_some_and(|(line, column)| digits(line) && digits(column))
        });
        if let Some(at) = place {
            self.message.truncate(at);
        }
        self
    }

    /// Adds to the message which item of a collection failed. An internal failure keeps its
    /// message.
    #[must_use]
    pub fn of_item(mut self, index: usize) -> Self {
        if self.internal_cause().is_none() {
            self.message = format!("item {index}: {}", self.message);
        }
        self
    }

    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.properties.push((name, value.into()));
        self
    }

    /// Adds a member to the failed answer.
    #[must_use]
    pub fn with_member(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        let extra = self.extra.get_or_insert_default();
        extra.members.push((name, value.into()));
        self
    }

    /// The members of the failed answer beside those of every answer.
    pub fn members(&self) -> &[(&'static str, Value)] {
        let extra = self.extra.as_ref();
        extra.map_or(&[], |extra| &extra.members)
    }

    /// Replaces code and status by those of another compatibility profile.
    #[must_use]
    pub fn as_known(mut self, code: Code, status: StatusCode) -> Self {
        self.code = code;
        self.status = Some(status);
        self
    }

    /// Adds the warnings that were collected before the failure, without duplicates.
    #[must_use]
    pub fn warned(mut self, mut before: Vec<String>) -> Self {
        if before.is_empty() {
            return self;
        }
        let extra = self.extra.get_or_insert_default();
        for warning in extra.warnings.drain(..) {
            if !before.contains(&warning) {
                before.push(warning);
            }
        }
        extra.warnings = before;
        self
    }

    pub fn warnings(&self) -> &[String] {
        let extra = self.extra.as_ref();
        extra.map_or(&[], |extra| &extra.warnings)
    }

    /// Adds the time after which to retry.
    #[must_use]
    pub fn retry_after(self, wait: Duration) -> Self {
        let ms = u64::try_from(wait.as_micros().div_ceil(1_000)).unwrap_or(u64::MAX);
        self.with(RETRY_AFTER, ms)
    }

    /// After how many seconds to retry, if that is known.
    pub fn retry_after_seconds(&self) -> Option<u64> {
        let given = self
            .properties
            .iter()
            .find(|(name, _)| *name == RETRY_AFTER);
        given
            .and_then(|(_, ms)| ms.as_u64())
            .map(|ms| ms.div_ceil(1_000))
    }

    pub const fn code(&self) -> Code {
        self.code
    }

    /// The status over HTTP.
    pub fn status(&self) -> StatusCode {
        self.status.unwrap_or_else(|| self.code.status())
    }

    pub const fn is_in_request(&self) -> bool {
        matches!(self.origin, Origin::Request)
    }

    /// The ticket and the cause of an internal failure, for the log.
    pub fn internal_cause(&self) -> Option<(Ticket, &str)> {
        match &self.origin {
            Origin::Internal { ticket, cause } => Some((*ticket, cause)),
            Origin::Request | Origin::Operation => None,
        }
    }

    /// The text with the cause of an internal failure, for the log.
    pub fn in_full(&self) -> String {
        match self.internal_cause() {
            Some((_, cause)) => format!("{self}: {cause}"),
            None => self.to_string(),
        }
    }

    pub fn retryable(&self) -> bool {
        self.code.retry() == Retry::Later
    }

    /// Builds the failure that another node has reported. An internal one keeps the text with its
    /// ticket; the cause is in the log of that node.
    #[must_use]
    pub fn of_another_node(
        code: Code,
        message: String,
        status: StatusCode,
        is_in_request: bool,
    ) -> Self {
        Self {
            code,
            message,
            properties: Properties::new(),
            status: Some(status).filter(|status| *status != code.status()),
            origin: if is_in_request {
                Origin::Request
            } else {
                Origin::Operation
            },
            extra: None,
        }
    }

    /// The text without the code.
    pub fn message(&self) -> &str {
        &self.message
    }

    pub fn properties(&self) -> &[(&'static str, Value)] {
        &self.properties
    }
}

impl fmt::Display for Failure {
    /// `<CODE>: <text>`, as on the wire.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

impl<E: Coded> From<E> for Failure {
    fn from(error: E) -> Self {
        let code = error.code();
        if code == Code::ServerError {
            return Self::internal(chain(&error));
        }
        // What the database says is for operators, and in the log.
        let text = if code == Code::StorageUnavailable {
            error.to_string()
        } else {
            chain(&error)
        };
        Self {
            properties: error.properties(),
            ..Self::new(code, text)
        }
    }
}

/// How much of a text of a caller messages repeat.
const SHOWN_CHARS: usize = 100;

/// The beginning of a text of a caller, for a message: in a header, a longer one can break the answer.
pub fn shown(text: &str) -> &str {
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

/// An error's text and that of its causes, outermost first.
pub fn chain(error: &dyn StdError) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        source = inner.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn codes_have_distinct_names() {
        let names: HashSet<_> = Code::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(names.len(), Code::ALL.len());
    }

    #[test]
    fn a_message_repeats_only_the_beginning_of_a_type() {
        for (kind, shown) in [("x".repeat(99), 99), ("ä".repeat(20_000), 100)] {
            let failure = Failure::unknown_type(&kind);
            let repeated: String = kind.chars().take(shown).collect();
            let message = failure.message();
            assert!(
                message.starts_with(&format!("`{repeated}` is not")),
                "{message}"
            );
        }
    }

    #[test]
    fn an_internal_failure_hides_its_cause() {
        let failure = Failure::internal("the disk is on fire");
        assert!(!failure.to_string().contains("fire"));
        let ticket = failure.to_string();
        assert_eq!(failure.in_full(), format!("{ticket}: the disk is on fire"));
        assert_eq!(
            failure.internal_cause().map(|(_, cause)| cause),
            Some("the disk is on fire")
        );
    }
}
