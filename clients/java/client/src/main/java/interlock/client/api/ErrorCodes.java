// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The codes of failed requests. A newer server may have others. */
public final class ErrorCodes {

    /** The action is disabled; enable it first. */
    public static final String ACTION_DISABLED = "ACTION_DISABLED";

    /** The action does not exist in this namespace, or belongs to another tenant; register it first. */
    public static final String ACTION_NOT_FOUND = "ACTION_NOT_FOUND";

    /** The member has already joined on this stream; open another stream. */
    public static final String ALREADY_JOINED = "ALREADY_JOINED";

    /** The request cannot be read or does not match the model; the message names the place, correct it. */
    public static final String BAD_REQUEST = "BAD_REQUEST";

    /** The bundle does not exist in this namespace, or belongs to another tenant; apply it first. */
    public static final String BUNDLE_NOT_FOUND = "BUNDLE_NOT_FOUND";

    /** The caller cancelled the request; nothing was written. */
    public static final String CANCELLED = "CANCELLED";

    /** The member's stream ended during a call, and the transition was not made: retry. With <code>properties.committedTransactionId</code>, what came before a processor with <code>COMMIT_BEFORE_DISPATCH</code> is stored. */
    public static final String COMPUTE_MEMBER_DISCONNECTED = "COMPUTE_MEMBER_DISCONNECTED";

    /** An operand is not a valid value of any type the field has; check the model. */
    public static final String CONDITION_TYPE_MISMATCH = "CONDITION_TYPE_MISMATCH";

    /** Another transaction committed first; read again, then write again. */
    public static final String CONFLICT = "CONFLICT";

    /** The system that the connector stands for cannot be reached; retry later. */
    public static final String CONNECTOR_UNAVAILABLE = "CONNECTOR_UNAVAILABLE";

    /** The node that the member is connected to has not taken the call over within <code>CYODA_DISPATCH_FORWARD_TIMEOUT</code>; nothing was written, retry. */
    public static final String DISPATCH_FORWARD_FAILED = "DISPATCH_FORWARD_FAILED";

    /** A member did not answer in time; reserved, see <code>WORKFLOW_FAILED</code>. */
    public static final String DISPATCH_TIMEOUT = "DISPATCH_TIMEOUT";

    /** Two aggregations have the same name; rename one with <code>as</code>. */
    public static final String DUPLICATE_AGGREGATION_ALIAS = "DUPLICATE_AGGREGATION_ALIAS";

    /** <code>groupBy</code> names a path twice; remove one. */
    public static final String DUPLICATE_GROUP_BY = "DUPLICATE_GROUP_BY";

    /** <code>If-Match</code> names another version than the current one; read again, then write again. */
    public static final String ENTITY_MODIFIED = "ENTITY_MODIFIED";

    /** The entity does not exist, did not exist at that time, or belongs to another tenant. */
    public static final String ENTITY_NOT_FOUND = "ENTITY_NOT_FOUND";

    /** Evaluating the condition on one entity takes too much work; test fewer or shorter fields. */
    public static final String EVALUATION_LIMIT = "EVALUATION_LIMIT";

    /** The feature is disabled; the message names the setting that enables it. */
    public static final String FEATURE_DISABLED = "FEATURE_DISABLED";

    /** No file is at that path in this namespace, or it belongs to another tenant; list the files. */
    public static final String FILE_NOT_FOUND = "FILE_NOT_FOUND";

    /** The state in <code>properties.state</code> is final; no event leads out of it. */
    public static final String FINAL_STATE = "FINAL_STATE";

    /** The caller lacks the required role, or the transaction belongs to another tenant. */
    public static final String FORBIDDEN = "FORBIDDEN";

    /** The query has more groups than <code>CYODA_STATS_GROUP_MAX</code>; narrow the condition or group by fewer fields. */
    public static final String GROUP_CARDINALITY_EXCEEDED = "GROUP_CARDINALITY_EXCEEDED";

    /** The guard of the transition cannot be evaluated, for instance because <code>data</code> lacks a member it reads; the message names it, and nothing was written. */
    public static final String GUARD_ERROR = "GUARD_ERROR";

    /** The guard of the transition does not hold for <code>data</code>; nothing was written. */
    public static final String GUARD_REJECTED = "GUARD_REJECTED";

    /** The topic does not exist; <code>GET help</code> below the context path lists all topics. */
    public static final String HELP_TOPIC_NOT_FOUND = "HELP_TOPIC_NOT_FOUND";

    /** The idempotency key was used for a different request; use a new key. */
    public static final String IDEMPOTENCY_CONFLICT = "IDEMPOTENCY_CONFLICT";

    /** There is no open incident of this id, or it belongs to another tenant; it was retried, cancelled, or its work has moved on. */
    public static final String INCIDENT_NOT_FOUND = "INCIDENT_NOT_FOUND";

    /** A value has none of the types of its field; <code>properties</code> names the field and its types. */
    public static final String INCOMPATIBLE_TYPE = "INCOMPATIBLE_TYPE";

    /** An aggregation needs the path of a single value, such as <code>$.amount</code>. */
    public static final String INVALID_AGGREGATION_FIELD = "INVALID_AGGREGATION_FIELD";

    /** The aggregation is unknown; use <code>sum</code>, <code>avg</code>, <code>min</code>, <code>max</code> or <code>stdev</code>. */
    public static final String INVALID_AGGREGATION_OP = "INVALID_AGGREGATION_OP";

    /** The change level is unknown; <code>properties.validValues</code> lists the valid ones. */
    public static final String INVALID_CHANGE_LEVEL = "INVALID_CHANGE_LEVEL";

    /** The condition cannot be evaluated, for instance because a pattern is invalid or too large. */
    public static final String INVALID_CONDITION = "INVALID_CONDITION";

    /** A condition or sort key names a field that the model does not have; check the path. */
    public static final String INVALID_FIELD_PATH = "INVALID_FIELD_PATH";

    /** <code>groupBy</code> accepts <code>state</code> and paths of single values. */
    public static final String INVALID_GROUP_BY_PATH = "INVALID_GROUP_BY_PATH";

    /** The limit of grouped statistics must be between 1 and <code>CYODA_STATS_GROUP_MAX</code>. */
    public static final String INVALID_LIMIT = "INVALID_LIMIT";

    /** A unique key is only partly given, or one of its values is not a scalar; the message names the fields. */
    public static final String INVALID_UNIQUE_KEY = "INVALID_UNIQUE_KEY";

    /** The definition of a unique key is invalid; its fields must be scalars outside of lists. */
    public static final String INVALID_UNIQUE_KEY_DEFINITION = "INVALID_UNIQUE_KEY_DEFINITION";

    /** The key pair does not exist or belongs to another tenant, or no key pair signs for the audience. */
    public static final String KEYPAIR_NOT_FOUND = "KEYPAIR_NOT_FOUND";

    /** Another tenant has a trusted key with this id; choose another id. */
    public static final String KEY_OWNED_BY_DIFFERENT_TENANT = "KEY_OWNED_BY_DIFFERENT_TENANT";

    /** The client does not exist or belongs to another tenant. */
    public static final String M2M_CLIENT_NOT_FOUND = "M2M_CLIENT_NOT_FOUND";

    /** The state machine does not exist in this namespace, or belongs to another tenant; apply its bundle first. */
    public static final String MACHINE_NOT_FOUND = "MACHINE_NOT_FOUND";

    /** The query of grouped statistics cannot be read; the message names the place. */
    public static final String MALFORMED_REQUEST = "MALFORMED_REQUEST";

    /** No manager has that file in this namespace, or it belongs to another tenant; list the managers. */
    public static final String MANAGER_NOT_FOUND = "MANAGER_NOT_FOUND";

    /** Grouped statistics need <code>groupBy</code>. */
    public static final String MISSING_GROUP_BY = "MISSING_GROUP_BY";

    /** The model is locked; unlock it, or use another version. */
    public static final String MODEL_ALREADY_LOCKED = "MODEL_ALREADY_LOCKED";

    /** The model is not locked. */
    public static final String MODEL_ALREADY_UNLOCKED = "MODEL_ALREADY_UNLOCKED";

    /** The model has entities; delete them first, or use another version. */
    public static final String MODEL_HAS_ENTITIES = "MODEL_HAS_ENTITIES";

    /** The model does not exist in this version; import it first. */
    public static final String MODEL_NOT_FOUND = "MODEL_NOT_FOUND";

    /** The model is not locked; lock it before creating entities. */
    public static final String MODEL_NOT_LOCKED = "MODEL_NOT_LOCKED";

    /** The resource does not exist. */
    public static final String NOT_FOUND = "NOT_FOUND";

    /** This server does not support the operation. */
    public static final String NOT_IMPLEMENTED = "NOT_IMPLEMENTED";

    /** No member with all required tags is connected; start one, then retry. */
    public static final String NO_COMPUTE_MEMBER_FOR_TAG = "NO_COMPUTE_MEMBER_FOR_TAG";

    /** Identity providers require a tenant whose id is a UUID. */
    public static final String OIDC_INVALID_TENANT = "OIDC_INVALID_TENANT";

    /** The tenant already has a provider with this <code>wellKnownConfigUri</code>; <code>properties.id</code> names it. */
    public static final String OIDC_PROVIDER_DUPLICATE = "OIDC_PROVIDER_DUPLICATE";

    /** The provider is invalidated; reactivate it before changing it, and with its keys if those that it had are not known. */
    public static final String OIDC_PROVIDER_INACTIVE = "OIDC_PROVIDER_INACTIVE";

    /** The provider does not exist or belongs to another tenant. */
    public static final String OIDC_PROVIDER_NOT_FOUND = "OIDC_PROVIDER_NOT_FOUND";

    /** The provider's address is not on the public internet; <code>CYODA_OIDC_ALLOW_PRIVATE_NETWORKS</code> permits it. */
    public static final String OIDC_SSRF_BLOCKED = "OIDC_SSRF_BLOCKED";

    /** The commit may or may not have happened; read before you repeat the request. */
    public static final String OUTCOME_UNKNOWN = "OUTCOME_UNKNOWN";

    /** A value is an object, a list or a scalar where the model has another of these; no change level permits that. */
    public static final String POLYMORPHIC_SLOT = "POLYMORPHIC_SLOT";

    /** A patch requires <code>If-Match</code> with the transaction it is based on, or <code>*</code>. */
    public static final String PRECONDITION_REQUIRED = "PRECONDITION_REQUIRED";

    /** The definition, or this version of it, is disabled; enable it first. */
    public static final String RUN_DEFINITION_DISABLED = "RUN_DEFINITION_DISABLED";

    /** The definition does not exist in this namespace, not in this version, is of another kind than the start asks for, or belongs to another tenant; create it first. */
    public static final String RUN_DEFINITION_NOT_FOUND = "RUN_DEFINITION_NOT_FOUND";

    /** Another run has the <code>runId</code>; choose another, or leave it out. */
    public static final String RUN_EXISTS = "RUN_EXISTS";

    /** The run has ended, with the status in <code>properties.status</code>; nothing changes it any more. */
    public static final String RUN_FINISHED = "RUN_FINISHED";

    /** There is no such run, or it belongs to another tenant. */
    public static final String RUN_NOT_FOUND = "RUN_NOT_FOUND";

    /** The search would test a pattern on more than <code>CYODA_SQLITE_SEARCH_SCAN_LIMIT</code> entities; add a condition that narrows it. */
    public static final String SCAN_BUDGET_EXHAUSTED = "SCAN_BUDGET_EXHAUSTED";

    /** The schedule function of a member returned an invalid schedule; fix the member. */
    public static final String SCHEDULE_FUNCTION_INVALID_RESULT = "SCHEDULE_FUNCTION_INVALID_RESULT";

    /** The background search has ended; <code>properties.currentStatus</code> has its status. */
    public static final String SEARCH_JOB_ALREADY_TERMINAL = "SEARCH_JOB_ALREADY_TERMINAL";

    /** The background search does not exist, its result has expired, or it belongs to another tenant. */
    public static final String SEARCH_JOB_NOT_FOUND = "SEARCH_JOB_NOT_FOUND";

    /** More entities match than <code>limit</code>; narrow the condition or raise the limit. */
    public static final String SEARCH_RESULT_LIMIT = "SEARCH_RESULT_LIMIT";

    /** The search took longer than <code>INTERLOCK_SEARCH_TIMEOUT</code>; narrow the condition, declare an index, or submit a background search. */
    public static final String SEARCH_TIMEOUT = "SEARCH_TIMEOUT";

    /** Internal error; the log has the cause under the ticket in the message. */
    public static final String SERVER_ERROR = "SERVER_ERROR";

    /** A saga takes only the signal that it waits for; <code>properties.awaited</code> names it. */
    public static final String SIGNAL_NOT_AWAITED = "SIGNAL_NOT_AWAITED";

    /** The requested data is on a damaged page of the database; the operator must restore a backup, see the log. */
    public static final String STORAGE_DAMAGED = "STORAGE_DAMAGED";

    /** The storage is unavailable; retry later, and see the log. */
    public static final String STORAGE_UNAVAILABLE = "STORAGE_UNAVAILABLE";

    /** The worker no longer has the task: its lease has ended, and the task goes to another worker; stop working on it. */
    public static final String TASK_LEASE_LOST = "TASK_LEASE_LOST";

    /** There is no such task, or it belongs to another tenant. */
    public static final String TASK_NOT_FOUND = "TASK_NOT_FOUND";

    /** The tenant has reached a limit set by the operator; <code>properties.limit</code> names it, <code>properties.retryAfterMs</code> says when to retry. */
    public static final String TENANT_LIMIT_EXCEEDED = "TENANT_LIMIT_EXCEEDED";

    /** Too many requests are in flight or waiting, or their bytes, or those of answers that are not read, exceed <code>INTERLOCK_RECEIVING_BYTES</code>; read answers before sending more. */
    public static final String TOO_MANY_REQUESTS = "TOO_MANY_REQUESTS";

    /** The topic does not exist in this namespace, or belongs to another tenant; publish an event to it first. */
    public static final String TOPIC_NOT_FOUND = "TOPIC_NOT_FOUND";

    /** The transaction token has expired. */
    public static final String TRANSACTION_EXPIRED = "TRANSACTION_EXPIRED";

    /** The node that began the transaction is gone or cannot be reached; nothing of the transaction was written unless it was committed before, repeat it as a whole. */
    public static final String TRANSACTION_NODE_UNAVAILABLE = "TRANSACTION_NODE_UNAVAILABLE";

    /** The transaction has already ended. */
    public static final String TRANSACTION_NOT_FOUND = "TRANSACTION_NOT_FOUND";

    /** The transaction reads or writes too much; split it. */
    public static final String TRANSACTION_TOO_LARGE = "TRANSACTION_TOO_LARGE";

    /** The current state has no manual transition of this name; <code>properties.availableTransitions</code> lists those it has. */
    public static final String TRANSITION_NOT_FOUND = "TRANSITION_NOT_FOUND";

    /** The tenant has reached <code>CYODA_IAM_TRUSTED_KEY_MAX_PER_TENANT</code> trusted keys; delete one. */
    public static final String TRUSTED_KEY_CAP_REACHED = "TRUSTED_KEY_CAP_REACHED";

    /** The trusted key does not exist or belongs to another tenant. */
    public static final String TRUSTED_KEY_NOT_FOUND = "TRUSTED_KEY_NOT_FOUND";

    /** Not authenticated: the token is missing or invalid, or a transaction token is forged. */
    public static final String UNAUTHORIZED = "UNAUTHORIZED";

    /** Another entity has the same values of a unique key; change them, or that entity. */
    public static final String UNIQUE_VIOLATION = "UNIQUE_VIOLATION";

    /** The event type is unknown; <code>interlock events</code> lists all types. */
    public static final String UNKNOWN_EVENT_TYPE = "UNKNOWN_EVENT_TYPE";

    /** Only RS256 keys are supported. */
    public static final String UNSUPPORTED_ALGORITHM = "UNSUPPORTED_ALGORITHM";

    /** Only RSA keys are supported. */
    public static final String UNSUPPORTED_KEY_TYPE = "UNSUPPORTED_KEY_TYPE";

    /** A patch is <code>application/merge-patch+json</code> or <code>application/json-patch+json</code>. */
    public static final String UNSUPPORTED_MEDIA_TYPE = "UNSUPPORTED_MEDIA_TYPE";

    /** A definition is invalid; the message names the place, and <code>properties.findings</code>, where it is there, everything that was found. */
    public static final String VALIDATION_FAILED = "VALIDATION_FAILED";

    /** The worker is not registered in this namespace, or belongs to another tenant; register it again, as after a restart of the service. */
    public static final String WORKER_NOT_FOUND = "WORKER_NOT_FOUND";

    /** A processor, a criterion or an engine limit failed the transition, which was not made. With <code>properties.committedTransactionId</code>, a processor with <code>COMMIT_BEFORE_DISPATCH</code> had committed what came before it: the entity <code>properties.entityId</code> is stored. */
    public static final String WORKFLOW_FAILED = "WORKFLOW_FAILED";

    /** The model has no imported workflow. */
    public static final String WORKFLOW_NOT_FOUND = "WORKFLOW_NOT_FOUND";

    /** The profile <code>cyoda-0.8</code> accepts the schema versions 1.1 to 1.3 only. */
    public static final String WORKFLOW_SCHEMA_VERSION_UNSUPPORTED = "WORKFLOW_SCHEMA_VERSION_UNSUPPORTED";

    private static final Map<String, About> KNOWN = new HashMap<>();

    static {
        KNOWN.put(ACTION_DISABLED, new About("the action is disabled; enable it first", 409, false));
        KNOWN.put(ACTION_NOT_FOUND, new About("the action does not exist in this namespace, or belongs to another tenant; register it first", 404, false));
        KNOWN.put(ALREADY_JOINED, new About("the member has already joined on this stream; open another stream", 409, false));
        KNOWN.put(BAD_REQUEST, new About("the request cannot be read or does not match the model; the message names the place, correct it", 400, false));
        KNOWN.put(BUNDLE_NOT_FOUND, new About("the bundle does not exist in this namespace, or belongs to another tenant; apply it first", 404, false));
        KNOWN.put(CANCELLED, new About("the caller cancelled the request; nothing was written", 499, false));
        KNOWN.put(COMPUTE_MEMBER_DISCONNECTED, new About("the member's stream ended during a call, and the transition was not made: retry. With `properties.committedTransactionId`, what came before a processor with `COMMIT_BEFORE_DISPATCH` is stored", 503, true));
        KNOWN.put(CONDITION_TYPE_MISMATCH, new About("an operand is not a valid value of any type the field has; check the model", 400, false));
        KNOWN.put(CONFLICT, new About("another transaction committed first; read again, then write again", 409, true));
        KNOWN.put(CONNECTOR_UNAVAILABLE, new About("the system that the connector stands for cannot be reached; retry later", 503, true));
        KNOWN.put(DISPATCH_FORWARD_FAILED, new About("the node that the member is connected to has not taken the call over within `CYODA_DISPATCH_FORWARD_TIMEOUT`; nothing was written, retry", 503, true));
        KNOWN.put(DISPATCH_TIMEOUT, new About("a member did not answer in time; reserved, see `WORKFLOW_FAILED`", 503, true));
        KNOWN.put(DUPLICATE_AGGREGATION_ALIAS, new About("two aggregations have the same name; rename one with `as`", 400, false));
        KNOWN.put(DUPLICATE_GROUP_BY, new About("`groupBy` names a path twice; remove one", 400, false));
        KNOWN.put(ENTITY_MODIFIED, new About("`If-Match` names another version than the current one; read again, then write again", 412, false));
        KNOWN.put(ENTITY_NOT_FOUND, new About("the entity does not exist, did not exist at that time, or belongs to another tenant", 404, false));
        KNOWN.put(EVALUATION_LIMIT, new About("evaluating the condition on one entity takes too much work; test fewer or shorter fields", 400, false));
        KNOWN.put(FEATURE_DISABLED, new About("the feature is disabled; the message names the setting that enables it", 404, false));
        KNOWN.put(FILE_NOT_FOUND, new About("no file is at that path in this namespace, or it belongs to another tenant; list the files", 404, false));
        KNOWN.put(FINAL_STATE, new About("the state in `properties.state` is final; no event leads out of it", 409, false));
        KNOWN.put(FORBIDDEN, new About("the caller lacks the required role, or the transaction belongs to another tenant", 403, false));
        KNOWN.put(GROUP_CARDINALITY_EXCEEDED, new About("the query has more groups than `CYODA_STATS_GROUP_MAX`; narrow the condition or group by fewer fields", 422, false));
        KNOWN.put(GUARD_ERROR, new About("the guard of the transition cannot be evaluated, for instance because `data` lacks a member it reads; the message names it, and nothing was written", 400, false));
        KNOWN.put(GUARD_REJECTED, new About("the guard of the transition does not hold for `data`; nothing was written", 400, false));
        KNOWN.put(HELP_TOPIC_NOT_FOUND, new About("the topic does not exist; `GET help` below the context path lists all topics", 404, false));
        KNOWN.put(IDEMPOTENCY_CONFLICT, new About("the idempotency key was used for a different request; use a new key", 409, false));
        KNOWN.put(INCIDENT_NOT_FOUND, new About("there is no open incident of this id, or it belongs to another tenant; it was retried, cancelled, or its work has moved on", 404, false));
        KNOWN.put(INCOMPATIBLE_TYPE, new About("a value has none of the types of its field; `properties` names the field and its types", 400, false));
        KNOWN.put(INVALID_AGGREGATION_FIELD, new About("an aggregation needs the path of a single value, such as `$.amount`", 400, false));
        KNOWN.put(INVALID_AGGREGATION_OP, new About("the aggregation is unknown; use `sum`, `avg`, `min`, `max` or `stdev`", 400, false));
        KNOWN.put(INVALID_CHANGE_LEVEL, new About("the change level is unknown; `properties.validValues` lists the valid ones", 400, false));
        KNOWN.put(INVALID_CONDITION, new About("the condition cannot be evaluated, for instance because a pattern is invalid or too large", 400, false));
        KNOWN.put(INVALID_FIELD_PATH, new About("a condition or sort key names a field that the model does not have; check the path", 400, false));
        KNOWN.put(INVALID_GROUP_BY_PATH, new About("`groupBy` accepts `state` and paths of single values", 400, false));
        KNOWN.put(INVALID_LIMIT, new About("the limit of grouped statistics must be between 1 and `CYODA_STATS_GROUP_MAX`", 400, false));
        KNOWN.put(INVALID_UNIQUE_KEY, new About("a unique key is only partly given, or one of its values is not a scalar; the message names the fields", 422, false));
        KNOWN.put(INVALID_UNIQUE_KEY_DEFINITION, new About("the definition of a unique key is invalid; its fields must be scalars outside of lists", 422, false));
        KNOWN.put(KEYPAIR_NOT_FOUND, new About("the key pair does not exist or belongs to another tenant, or no key pair signs for the audience", 404, false));
        KNOWN.put(KEY_OWNED_BY_DIFFERENT_TENANT, new About("another tenant has a trusted key with this id; choose another id", 409, false));
        KNOWN.put(M2M_CLIENT_NOT_FOUND, new About("the client does not exist or belongs to another tenant", 404, false));
        KNOWN.put(MACHINE_NOT_FOUND, new About("the state machine does not exist in this namespace, or belongs to another tenant; apply its bundle first", 404, false));
        KNOWN.put(MALFORMED_REQUEST, new About("the query of grouped statistics cannot be read; the message names the place", 400, false));
        KNOWN.put(MANAGER_NOT_FOUND, new About("no manager has that file in this namespace, or it belongs to another tenant; list the managers", 404, false));
        KNOWN.put(MISSING_GROUP_BY, new About("grouped statistics need `groupBy`", 400, false));
        KNOWN.put(MODEL_ALREADY_LOCKED, new About("the model is locked; unlock it, or use another version", 409, false));
        KNOWN.put(MODEL_ALREADY_UNLOCKED, new About("the model is not locked", 409, false));
        KNOWN.put(MODEL_HAS_ENTITIES, new About("the model has entities; delete them first, or use another version", 409, false));
        KNOWN.put(MODEL_NOT_FOUND, new About("the model does not exist in this version; import it first", 404, false));
        KNOWN.put(MODEL_NOT_LOCKED, new About("the model is not locked; lock it before creating entities", 409, false));
        KNOWN.put(NOT_FOUND, new About("the resource does not exist", 404, false));
        KNOWN.put(NOT_IMPLEMENTED, new About("this server does not support the operation", 501, false));
        KNOWN.put(NO_COMPUTE_MEMBER_FOR_TAG, new About("no member with all required tags is connected; start one, then retry", 503, true));
        KNOWN.put(OIDC_INVALID_TENANT, new About("identity providers require a tenant whose id is a UUID", 400, false));
        KNOWN.put(OIDC_PROVIDER_DUPLICATE, new About("the tenant already has a provider with this `wellKnownConfigUri`; `properties.id` names it", 409, false));
        KNOWN.put(OIDC_PROVIDER_INACTIVE, new About("the provider is invalidated; reactivate it before changing it, and with its keys if those that it had are not known", 409, false));
        KNOWN.put(OIDC_PROVIDER_NOT_FOUND, new About("the provider does not exist or belongs to another tenant", 404, false));
        KNOWN.put(OIDC_SSRF_BLOCKED, new About("the provider's address is not on the public internet; `CYODA_OIDC_ALLOW_PRIVATE_NETWORKS` permits it", 400, false));
        KNOWN.put(OUTCOME_UNKNOWN, new About("the commit may or may not have happened; read before you repeat the request", 503, false));
        KNOWN.put(POLYMORPHIC_SLOT, new About("a value is an object, a list or a scalar where the model has another of these; no change level permits that", 400, false));
        KNOWN.put(PRECONDITION_REQUIRED, new About("a patch requires `If-Match` with the transaction it is based on, or `*`", 428, false));
        KNOWN.put(RUN_DEFINITION_DISABLED, new About("the definition, or this version of it, is disabled; enable it first", 409, false));
        KNOWN.put(RUN_DEFINITION_NOT_FOUND, new About("the definition does not exist in this namespace, not in this version, is of another kind than the start asks for, or belongs to another tenant; create it first", 404, false));
        KNOWN.put(RUN_EXISTS, new About("another run has the `runId`; choose another, or leave it out", 409, false));
        KNOWN.put(RUN_FINISHED, new About("the run has ended, with the status in `properties.status`; nothing changes it any more", 409, false));
        KNOWN.put(RUN_NOT_FOUND, new About("there is no such run, or it belongs to another tenant", 404, false));
        KNOWN.put(SCAN_BUDGET_EXHAUSTED, new About("the search would test a pattern on more than `CYODA_SQLITE_SEARCH_SCAN_LIMIT` entities; add a condition that narrows it", 400, false));
        KNOWN.put(SCHEDULE_FUNCTION_INVALID_RESULT, new About("the schedule function of a member returned an invalid schedule; fix the member", 500, false));
        KNOWN.put(SEARCH_JOB_ALREADY_TERMINAL, new About("the background search has ended; `properties.currentStatus` has its status", 400, false));
        KNOWN.put(SEARCH_JOB_NOT_FOUND, new About("the background search does not exist, its result has expired, or it belongs to another tenant", 404, false));
        KNOWN.put(SEARCH_RESULT_LIMIT, new About("more entities match than `limit`; narrow the condition or raise the limit", 400, false));
        KNOWN.put(SEARCH_TIMEOUT, new About("the search took longer than `INTERLOCK_SEARCH_TIMEOUT`; narrow the condition, declare an index, or submit a background search", 503, true));
        KNOWN.put(SERVER_ERROR, new About("internal error; the log has the cause under the ticket in the message", 500, false));
        KNOWN.put(SIGNAL_NOT_AWAITED, new About("a saga takes only the signal that it waits for; `properties.awaited` names it", 400, false));
        KNOWN.put(STORAGE_DAMAGED, new About("the requested data is on a damaged page of the database; the operator must restore a backup, see the log", 500, false));
        KNOWN.put(STORAGE_UNAVAILABLE, new About("the storage is unavailable; retry later, and see the log", 503, true));
        KNOWN.put(TASK_LEASE_LOST, new About("the worker no longer has the task: its lease has ended, and the task goes to another worker; stop working on it", 409, false));
        KNOWN.put(TASK_NOT_FOUND, new About("there is no such task, or it belongs to another tenant", 404, false));
        KNOWN.put(TENANT_LIMIT_EXCEEDED, new About("the tenant has reached a limit set by the operator; `properties.limit` names it, `properties.retryAfterMs` says when to retry", 429, true));
        KNOWN.put(TOO_MANY_REQUESTS, new About("too many requests are in flight or waiting, or their bytes, or those of answers that are not read, exceed `INTERLOCK_RECEIVING_BYTES`; read answers before sending more", 429, true));
        KNOWN.put(TOPIC_NOT_FOUND, new About("the topic does not exist in this namespace, or belongs to another tenant; publish an event to it first", 404, false));
        KNOWN.put(TRANSACTION_EXPIRED, new About("the transaction token has expired", 410, false));
        KNOWN.put(TRANSACTION_NODE_UNAVAILABLE, new About("the node that began the transaction is gone or cannot be reached; nothing of the transaction was written unless it was committed before, repeat it as a whole", 503, true));
        KNOWN.put(TRANSACTION_NOT_FOUND, new About("the transaction has already ended", 404, false));
        KNOWN.put(TRANSACTION_TOO_LARGE, new About("the transaction reads or writes too much; split it", 413, false));
        KNOWN.put(TRANSITION_NOT_FOUND, new About("the current state has no manual transition of this name; `properties.availableTransitions` lists those it has", 404, false));
        KNOWN.put(TRUSTED_KEY_CAP_REACHED, new About("the tenant has reached `CYODA_IAM_TRUSTED_KEY_MAX_PER_TENANT` trusted keys; delete one", 400, false));
        KNOWN.put(TRUSTED_KEY_NOT_FOUND, new About("the trusted key does not exist or belongs to another tenant", 404, false));
        KNOWN.put(UNAUTHORIZED, new About("not authenticated: the token is missing or invalid, or a transaction token is forged", 401, false));
        KNOWN.put(UNIQUE_VIOLATION, new About("another entity has the same values of a unique key; change them, or that entity", 409, false));
        KNOWN.put(UNKNOWN_EVENT_TYPE, new About("the event type is unknown; `interlock events` lists all types", 400, false));
        KNOWN.put(UNSUPPORTED_ALGORITHM, new About("only RS256 keys are supported", 400, false));
        KNOWN.put(UNSUPPORTED_KEY_TYPE, new About("only RSA keys are supported", 400, false));
        KNOWN.put(UNSUPPORTED_MEDIA_TYPE, new About("a patch is `application/merge-patch+json` or `application/json-patch+json`", 415, false));
        KNOWN.put(VALIDATION_FAILED, new About("a definition is invalid; the message names the place, and `properties.findings`, where it is there, everything that was found", 400, false));
        KNOWN.put(WORKER_NOT_FOUND, new About("the worker is not registered in this namespace, or belongs to another tenant; register it again, as after a restart of the service", 404, false));
        KNOWN.put(WORKFLOW_FAILED, new About("a processor, a criterion or an engine limit failed the transition, which was not made. With `properties.committedTransactionId`, a processor with `COMMIT_BEFORE_DISPATCH` had committed what came before it: the entity `properties.entityId` is stored", 400, false));
        KNOWN.put(WORKFLOW_NOT_FOUND, new About("the model has no imported workflow", 404, false));
        KNOWN.put(WORKFLOW_SCHEMA_VERSION_UNSUPPORTED, new About("the profile `cyoda-0.8` accepts the schema versions 1.1 to 1.3 only", 400, false));
    }

    private ErrorCodes() {}

    /** What the code means and what to do about it; empty for an unknown one. */
    public static String meaning(String code) {
        About about = KNOWN.get(code);
        return about == null ? "" : about.meaning;
    }

    /** The HTTP status that belongs to the code; 0 for an unknown one. */
    public static int status(String code) {
        About about = KNOWN.get(code);
        return about == null ? 0 : about.status;
    }

    /** Whether requests that failed with this code may succeed later; null for an unknown one. */
    public static @Nullable Boolean isRetryable(String code) {
        About about = KNOWN.get(code);
        return about == null ? null : about.isRetryable;
    }

    private record About(String meaning, int status, boolean isRetryable) {}
}
