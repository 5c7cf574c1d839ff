//! The table of codes.

use std::fmt;

use http::StatusCode;

/// Whether a retry may help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    Never,
    Later,
}

macro_rules! codes {
    ($($name:ident = $text:literal, $status:literal, $retry:ident, $meaning:literal;)*) => {
        /// The code of a failure. Clients distinguish failures by it, never by the status.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Code { $(#[doc = $meaning] $name,)* }

        impl Code {
            /// Every code this server can answer.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            const fn row(self) -> &'static Row {
                match self {
                    $(Self::$name => &Row {
                        text: $text,
                        status: $status,
                        retry: Retry::$retry,
                        meaning: $meaning,
                    },)*
                }
            }
        }
    };
}

/// What the table says of a code.
struct Row {
    text: &'static str,
    status: u16,
    retry: Retry,
    /// The meaning and the remedy, in Markdown.
    meaning: &'static str,
}

codes! {
    ActionDisabled = "ACTION_DISABLED", 409, Never,
        "the action is disabled; enable it first";
    ActionNotFound = "ACTION_NOT_FOUND", 404, Never,
        "the action does not exist in this namespace, or belongs to another tenant; register it first";
    AlreadyJoined = "ALREADY_JOINED", 409, Never,
        "the member has already joined on this stream; open another stream";
    BadRequest = "BAD_REQUEST", 400, Never,
        "the request cannot be read or does not match the model; the message names the place, correct it";
    BundleNotFound = "BUNDLE_NOT_FOUND", 404, Never,
        "the bundle does not exist in this namespace, or belongs to another tenant; apply it first";
    Cancelled = "CANCELLED", 499, Never,
        "the caller cancelled the request; nothing was written";
    ComputeMemberDisconnected = "COMPUTE_MEMBER_DISCONNECTED", 503, Later,
        "the member's stream ended during a call, and the transition was not made: retry. With `properties.committedTransactionId`, what came before a processor with `COMMIT_BEFORE_DISPATCH` is stored";
    ConditionTypeMismatch = "CONDITION_TYPE_MISMATCH", 400, Never,
        "an operand is not a valid value of any type the field has; check the model";
    Conflict = "CONFLICT", 409, Later,
        "another transaction committed first; read again, then write again";
    ConnectorUnavailable = "CONNECTOR_UNAVAILABLE", 503, Later,
        "the system that the connector stands for cannot be reached; retry later";
    DispatchForwardFailed = "DISPATCH_FORWARD_FAILED", 503, Later,
        "the node that the member is connected to has not taken the call over within `CYODA_DISPATCH_FORWARD_TIMEOUT`; nothing was written, retry";
    DispatchTimeout = "DISPATCH_TIMEOUT", 503, Later,
        "a member did not answer in time; reserved, see `WORKFLOW_FAILED`";
    DuplicateAggregationAlias = "DUPLICATE_AGGREGATION_ALIAS", 400, Never,
        "two aggregations have the same name; rename one with `as`";
    DuplicateGroupBy = "DUPLICATE_GROUP_BY", 400, Never,
        "`groupBy` names a path twice; remove one";
    EntityModified = "ENTITY_MODIFIED", 412, Never,
        "`If-Match` names another version than the current one; read again, then write again";
    EntityNotFound = "ENTITY_NOT_FOUND", 404, Never,
        "the entity does not exist, did not exist at that time, or belongs to another tenant";
    EvaluationLimit = "EVALUATION_LIMIT", 400, Never,
        "evaluating the condition on one entity takes too much work; test fewer or shorter fields";
    FeatureDisabled = "FEATURE_DISABLED", 404, Never,
        "the feature is disabled; the message names the setting that enables it";
    FileNotFound = "FILE_NOT_FOUND", 404, Never,
        "no file is at that path in this namespace, or it belongs to another tenant; list the files";
    FinalState = "FINAL_STATE", 409, Never,
        "the state in `properties.state` is final; no event leads out of it";
    Forbidden = "FORBIDDEN", 403, Never,
        "the caller lacks the required role, or the transaction belongs to another tenant";
    GroupCardinalityExceeded = "GROUP_CARDINALITY_EXCEEDED", 422, Never,
        "the query has more groups than `CYODA_STATS_GROUP_MAX`; narrow the condition or group by fewer fields";
    GuardError = "GUARD_ERROR", 400, Never,
        "the guard of the transition cannot be evaluated, for instance because `data` lacks a member it reads; the message names it, and nothing was written";
    GuardRejected = "GUARD_REJECTED", 400, Never,
        "the guard of the transition does not hold for `data`; nothing was written";
    HelpTopicNotFound = "HELP_TOPIC_NOT_FOUND", 404, Never,
        "the topic does not exist; `GET help` below the context path lists all topics";
    IdempotencyConflict = "IDEMPOTENCY_CONFLICT", 409, Never,
        "the idempotency key was used for a different request; use a new key";
    IncidentNotFound = "INCIDENT_NOT_FOUND", 404, Never,
        "there is no open incident of this id, or it belongs to another tenant; it was retried, cancelled, or its work has moved on";
    IncompatibleType = "INCOMPATIBLE_TYPE", 400, Never,
        "a value has none of the types of its field; `properties` names the field and its types";
    InvalidAggregationField = "INVALID_AGGREGATION_FIELD", 400, Never,
        "an aggregation needs the path of a single value, such as `$.amount`";
    InvalidAggregationOp = "INVALID_AGGREGATION_OP", 400, Never,
        "the aggregation is unknown; use `sum`, `avg`, `min`, `max` or `stdev`";
    InvalidChangeLevel = "INVALID_CHANGE_LEVEL", 400, Never,
        "the change level is unknown; `properties.validValues` lists the valid ones";
    InvalidCondition = "INVALID_CONDITION", 400, Never,
        "the condition cannot be evaluated, for instance because a pattern is invalid or too large";
    InvalidFieldPath = "INVALID_FIELD_PATH", 400, Never,
        "a condition or sort key names a field that the model does not have; check the path";
    InvalidGroupByPath = "INVALID_GROUP_BY_PATH", 400, Never,
        "`groupBy` accepts `state` and paths of single values";
    InvalidLimit = "INVALID_LIMIT", 400, Never,
        "the limit of grouped statistics must be between 1 and `CYODA_STATS_GROUP_MAX`";
    InvalidUniqueKey = "INVALID_UNIQUE_KEY", 422, Never,
        "a unique key is only partly given, or one of its values is not a scalar; the message names the fields";
    InvalidUniqueKeyDefinition = "INVALID_UNIQUE_KEY_DEFINITION", 422, Never,
        "the definition of a unique key is invalid; its fields must be scalars outside of lists";
    KeypairNotFound = "KEYPAIR_NOT_FOUND", 404, Never,
        "the key pair does not exist or belongs to another tenant, or no key pair signs for the audience";
    KeyOwnedByDifferentTenant = "KEY_OWNED_BY_DIFFERENT_TENANT", 409, Never,
        "another tenant has a trusted key with this id; choose another id";
    M2mClientNotFound = "M2M_CLIENT_NOT_FOUND", 404, Never,
        "the client does not exist or belongs to another tenant";
    MachineNotFound = "MACHINE_NOT_FOUND", 404, Never,
        "the state machine does not exist in this namespace, or belongs to another tenant; apply its bundle first";
    MalformedRequest = "MALFORMED_REQUEST", 400, Never,
        "the query of grouped statistics cannot be read; the message names the place";
    ManagerNotFound = "MANAGER_NOT_FOUND", 404, Never,
        "no manager has that file in this namespace, or it belongs to another tenant; list the managers";
    MissingGroupBy = "MISSING_GROUP_BY", 400, Never,
        "grouped statistics need `groupBy`";
    ModelAlreadyLocked = "MODEL_ALREADY_LOCKED", 409, Never,
        "the model is locked; unlock it, or use another version";
    ModelAlreadyUnlocked = "MODEL_ALREADY_UNLOCKED", 409, Never,
        "the model is not locked";
    ModelHasEntities = "MODEL_HAS_ENTITIES", 409, Never,
        "the model has entities; delete them first, or use another version";
    ModelNotFound = "MODEL_NOT_FOUND", 404, Never,
        "the model does not exist in this version; import it first";
    ModelNotLocked = "MODEL_NOT_LOCKED", 409, Never,
        "the model is not locked; lock it before creating entities";
    NotFound = "NOT_FOUND", 404, Never,
        "the resource does not exist";
    NotImplemented = "NOT_IMPLEMENTED", 501, Never,
        "this server does not support the operation";
    NoComputeMemberForTag = "NO_COMPUTE_MEMBER_FOR_TAG", 503, Later,
        "no member with all required tags is connected; start one, then retry";
    OidcInvalidTenant = "OIDC_INVALID_TENANT", 400, Never,
        "identity providers require a tenant whose id is a UUID";
    OidcProviderDuplicate = "OIDC_PROVIDER_DUPLICATE", 409, Never,
        "the tenant already has a provider with this `wellKnownConfigUri`; `properties.id` names it";
    OidcProviderInactive = "OIDC_PROVIDER_INACTIVE", 409, Never,
        "the provider is invalidated; reactivate it before changing it, and with its keys if those that it had are not known";
    OidcProviderNotFound = "OIDC_PROVIDER_NOT_FOUND", 404, Never,
        "the provider does not exist or belongs to another tenant";
    OidcSsrfBlocked = "OIDC_SSRF_BLOCKED", 400, Never,
        "the provider's address is not on the public internet; `CYODA_OIDC_ALLOW_PRIVATE_NETWORKS` permits it";
    OutcomeUnknown = "OUTCOME_UNKNOWN", 503, Never,
        "the commit may or may not have happened; read before you repeat the request";
    PolymorphicSlot = "POLYMORPHIC_SLOT", 400, Never,
        "a value is an object, a list or a scalar where the model has another of these; no change level permits that";
    PreconditionRequired = "PRECONDITION_REQUIRED", 428, Never,
        "a patch requires `If-Match` with the transaction it is based on, or `*`";
    RunDefinitionDisabled = "RUN_DEFINITION_DISABLED", 409, Never,
        "the definition, or this version of it, is disabled; enable it first";
    RunDefinitionNotFound = "RUN_DEFINITION_NOT_FOUND", 404, Never,
        "the definition does not exist in this namespace, not in this version, is of another kind than the start asks for, or belongs to another tenant; create it first";
    RunExists = "RUN_EXISTS", 409, Never,
        "another run has the `runId`; choose another, or leave it out";
    RunFinished = "RUN_FINISHED", 409, Never,
        "the run has ended, with the status in `properties.status`; nothing changes it any more";
    RunNotFound = "RUN_NOT_FOUND", 404, Never,
        "there is no such run, or it belongs to another tenant";
    ScanBudgetExhausted = "SCAN_BUDGET_EXHAUSTED", 400, Never,
        "the search would test a pattern on more than `CYODA_SQLITE_SEARCH_SCAN_LIMIT` entities; add a condition that narrows it";
    ScheduleFunctionInvalidResult = "SCHEDULE_FUNCTION_INVALID_RESULT", 500, Never,
        "the schedule function of a member returned an invalid schedule; fix the member";
    SearchJobAlreadyTerminal = "SEARCH_JOB_ALREADY_TERMINAL", 400, Never,
        "the background search has ended; `properties.currentStatus` has its status";
    SearchJobNotFound = "SEARCH_JOB_NOT_FOUND", 404, Never,
        "the background search does not exist, its result has expired, or it belongs to another tenant";
    SearchResultLimit = "SEARCH_RESULT_LIMIT", 400, Never,
        "more entities match than `limit`; narrow the condition or raise the limit";
    SearchTimeout = "SEARCH_TIMEOUT", 503, Later,
        "the search took longer than `INTERLOCK_SEARCH_TIMEOUT`; narrow the condition, declare an index, or submit a background search";
    ServerError = "SERVER_ERROR", 500, Never,
        "internal error; the log has the cause under the ticket in the message";
    SignalNotAwaited = "SIGNAL_NOT_AWAITED", 400, Never,
        "a saga takes only the signal that it waits for; `properties.awaited` names it";
    StorageDamaged = "STORAGE_DAMAGED", 500, Never,
        "the requested data is on a damaged page of the database; the operator must restore a backup, see the log";
    StorageUnavailable = "STORAGE_UNAVAILABLE", 503, Later,
        "the storage is unavailable; retry later, and see the log";
    TaskLeaseLost = "TASK_LEASE_LOST", 409, Never,
        "the worker no longer has the task: its lease has ended, and the task goes to another worker; stop working on it";
    TaskNotFound = "TASK_NOT_FOUND", 404, Never,
        "there is no such task, or it belongs to another tenant";
    TenantLimitExceeded = "TENANT_LIMIT_EXCEEDED", 429, Later,
        "the tenant has reached a limit set by the operator; `properties.limit` names it, `properties.retryAfterMs` says when to retry";
    TooManyRequests = "TOO_MANY_REQUESTS", 429, Later,
        "too many requests are in flight or waiting, or their bytes, or those of answers that are not read, exceed `INTERLOCK_RECEIVING_BYTES`; read answers before sending more";
    TopicNotFound = "TOPIC_NOT_FOUND", 404, Never,
        "the topic does not exist in this namespace, or belongs to another tenant; publish an event to it first";
    TransactionExpired = "TRANSACTION_EXPIRED", 410, Never,
        "the transaction token has expired";
    TransactionNodeUnavailable = "TRANSACTION_NODE_UNAVAILABLE", 503, Later,
        "the node that began the transaction is gone or cannot be reached; nothing of the transaction was written unless it was committed before, repeat it as a whole";
    TransactionNotFound = "TRANSACTION_NOT_FOUND", 404, Never,
        "the transaction has already ended";
    TransactionTooLarge = "TRANSACTION_TOO_LARGE", 413, Never,
        "the transaction reads or writes too much; split it";
    TransitionNotFound = "TRANSITION_NOT_FOUND", 404, Never,
        "the current state has no manual transition of this name; `properties.availableTransitions` lists those it has";
    TrustedKeyCapReached = "TRUSTED_KEY_CAP_REACHED", 400, Never,
        "the tenant has reached `CYODA_IAM_TRUSTED_KEY_MAX_PER_TENANT` trusted keys; delete one";
    TrustedKeyNotFound = "TRUSTED_KEY_NOT_FOUND", 404, Never,
        "the trusted key does not exist or belongs to another tenant";
    Unauthorized = "UNAUTHORIZED", 401, Never,
        "not authenticated: the token is missing or invalid, or a transaction token is forged";
    UniqueViolation = "UNIQUE_VIOLATION", 409, Never,
        "another entity has the same values of a unique key; change them, or that entity";
    UnknownEventType = "UNKNOWN_EVENT_TYPE", 400, Never,
        "the event type is unknown; `interlock events` lists all types";
    UnsupportedAlgorithm = "UNSUPPORTED_ALGORITHM", 400, Never,
        "only RS256 keys are supported";
    UnsupportedKeyType = "UNSUPPORTED_KEY_TYPE", 400, Never,
        "only RSA keys are supported";
    UnsupportedMediaType = "UNSUPPORTED_MEDIA_TYPE", 415, Never,
        "a patch is `application/merge-patch+json` or `application/json-patch+json`";
    ValidationFailed = "VALIDATION_FAILED", 400, Never,
        "a definition is invalid; the message names the place, and `properties.findings`, where it is there, everything that was found";
    WorkerNotFound = "WORKER_NOT_FOUND", 404, Never,
        "the worker is not registered in this namespace, or belongs to another tenant; register it again, as after a restart of the service";
    WorkflowFailed = "WORKFLOW_FAILED", 400, Never,
        "a processor, a criterion or an engine limit failed the transition, which was not made. With `properties.committedTransactionId`, a processor with `COMMIT_BEFORE_DISPATCH` had committed what came before it: the entity `properties.entityId` is stored";
    WorkflowNotFound = "WORKFLOW_NOT_FOUND", 404, Never,
        "the model has no imported workflow";
    WorkflowSchemaVersionUnsupported = "WORKFLOW_SCHEMA_VERSION_UNSUPPORTED", 400, Never,
        "the profile `cyoda-0.8` accepts the schema versions 1.1 to 1.3 only";
}

impl Code {
    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        self.row().text
    }

    /// The status over HTTP.
    pub fn status(self) -> StatusCode {
        StatusCode::from_u16(self.row().status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    pub const fn retry(self) -> Retry {
        self.row().retry
    }

    /// The meaning and the remedy, in Markdown.
    pub const fn meaning(self) -> &'static str {
        self.row().meaning
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
