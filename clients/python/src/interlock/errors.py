"""The failures of requests, as exceptions.

The server names what went wrong with a code: the prefix of the message, before the first colon.
Codes that callers distinguish have a class here; any other code is an `InterlockError` with that
code. Classes of codes with the same remedy share a base.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar

from interlock.api.codes import CODES

CLIENT_CODES = {
    "ANSWER_NOT_READ": (
        "the program did not read a streamed answer within a transaction for too long while others"
        " waited for the stream; send no requests until it is read, or ask for less at once"
    ),
    "CLIENT_CLOSED": "the client or the member was closed; make another one",
    "CONNECTION_LOST": (
        "there is no connection, or it ended before the answer; it is retryable if the request was"
        " certainly not sent"
    ),
    "INVALID_OPTIONS": (
        "an address, a certificate, metadata or another setting of the client cannot be used;"
        " correct it"
    ),
    "MESSAGE_TOO_LARGE": "the server would not accept a message of this size; send less",
    "SERVER_NOT_UNDERSTOOD": (
        "the server is of a version that this client does not understand; use the client of that"
        " version"
    ),
    "UNKNOWN": "the server gave no code; look into its log",
}
"""The codes of failures that this client finds itself, and what to do about each."""

_BY_CODE: dict[str, type[InterlockError]] = {}


class InterlockError(Exception):
    """A request failed.

    `str(error)` is the whole text, `<CODE>: <message>`.
    """

    _code: ClassVar[str] = "UNKNOWN"

    code: str
    """The code: `ENTITY_NOT_FOUND`, `CONFLICT`, …"""

    message: str
    """The text without the code."""

    retryable: bool
    """Whether the same request may succeed if it is retried."""

    properties: Mapping[str, Any]
    """Further details, depending on the code: `entityId`, `fieldPath`, `retryAfterMs`, …"""

    warnings: tuple[str, ...]
    """The warnings of the server and of compute members before it failed."""

    def __init_subclass__(cls, *, code: str | None = None) -> None:
        """Register the class for its code."""
        if code is not None:
            cls._code = code
            _BY_CODE[code] = cls

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        retryable: bool = False,
        properties: Mapping[str, Any] = MappingProxyType({}),
        warnings: Iterable[str] = (),
    ) -> None:
        self.code = code or self._code
        self.message = message
        self.retryable = retryable
        self.properties = properties
        self.warnings = tuple(warnings)
        super().__init__(f"{self.code}: {message}")

    @property
    def remedy(self) -> str:
        """What the code means and what to do about it; empty for an unknown code."""
        known = CODES.get(self.code)
        return known.meaning if known else CLIENT_CODES.get(self.code, "")


class NotFound(InterlockError, code="NOT_FOUND"):
    """What the request names does not exist, or is another tenant's."""


class EntityNotFound(NotFound, code="ENTITY_NOT_FOUND"):
    """No such entity, or not at that time."""


class ModelNotFound(NotFound, code="MODEL_NOT_FOUND"):
    """No model of that name and version has been imported."""


class TransitionNotFound(NotFound, code="TRANSITION_NOT_FOUND"):
    """The entity's state has no such transition, or it is disabled."""


class WorkflowNotFound(NotFound, code="WORKFLOW_NOT_FOUND"):
    """The model has no workflows."""


class KeyPairNotFound(NotFound, code="KEYPAIR_NOT_FOUND"):
    """The tenant has no such key pair, or none that signs for the audience."""


class TrustedKeyNotFound(NotFound, code="TRUSTED_KEY_NOT_FOUND"):
    """The tenant trusts no such key."""


class OidcProviderNotFound(NotFound, code="OIDC_PROVIDER_NOT_FOUND"):
    """The tenant has no such OpenID Connect provider."""


class TokenClientNotFound(NotFound, code="M2M_CLIENT_NOT_FOUND"):
    """The tenant has no such client."""


class TransactionNotFound(NotFound, code="TRANSACTION_NOT_FOUND"):
    """The transaction of a callback has been committed or rolled back."""


class SearchJobNotFound(NotFound, code="SEARCH_JOB_NOT_FOUND"):
    """No such snapshot search."""


class BundleNotFound(NotFound, code="BUNDLE_NOT_FOUND"):
    """No such bundle."""


class FileNotFound(NotFound, code="FILE_NOT_FOUND"):
    """No file at that path."""


class MachineNotFound(NotFound, code="MACHINE_NOT_FOUND"):
    """No such state machine."""


class ManagerNotFound(NotFound, code="MANAGER_NOT_FOUND"):
    """No manager with that name."""


class RunDefinitionNotFound(NotFound, code="RUN_DEFINITION_NOT_FOUND"):
    """No definition of that name, or not of that version."""


class RunNotFound(NotFound, code="RUN_NOT_FOUND"):
    """No such run."""


class ActionNotFound(NotFound, code="ACTION_NOT_FOUND"):
    """No action of that name is registered."""


class TaskNotFound(NotFound, code="TASK_NOT_FOUND"):
    """No such task, or its run is gone."""


class WorkerNotFound(NotFound, code="WORKER_NOT_FOUND"):
    """The worker is not registered, or has been silent for too long."""


class TopicNotFound(NotFound, code="TOPIC_NOT_FOUND"):
    """No event was published to a topic of that name."""


class IncidentNotFound(NotFound, code="INCIDENT_NOT_FOUND"):
    """No such incident."""


class RunDefinitionDisabled(InterlockError, code="RUN_DEFINITION_DISABLED"):
    """The definition is disabled: enable it before a run is started."""


class ActionDisabled(InterlockError, code="ACTION_DISABLED"):
    """The action is disabled: enable it before it is invoked."""


class RunExists(InterlockError, code="RUN_EXISTS"):
    """Another run has the id that the start asks for."""


class RunFinished(InterlockError, code="RUN_FINISHED"):
    """The run has ended, and nothing of it changes again.

    `properties["status"]` says how.
    """


class FinalState(InterlockError, code="FINAL_STATE"):
    """No event leads out of the state; `properties["state"]` names it."""


class ConnectorUnavailable(InterlockError, code="CONNECTOR_UNAVAILABLE"):
    """The system that a connector stands for does not answer; retry later."""


class TaskLeaseLost(InterlockError, code="TASK_LEASE_LOST"):
    """Another worker has the task now."""


class Conflict(InterlockError, code="CONFLICT"):
    """Another transaction committed first: read again, then write again."""


class EntityModified(Conflict, code="ENTITY_MODIFIED"):
    """The entity is not at the version that `if_match` names."""


class UniqueViolation(InterlockError, code="UNIQUE_VIOLATION"):
    """Another entity has the values of a unique key; a retry does not help."""


class IdempotencyConflict(InterlockError, code="IDEMPOTENCY_CONFLICT"):
    """The idempotency key belongs to another request."""


class ModelStateError(InterlockError):
    """The model is not in the state that the request needs."""


class ModelNotLocked(ModelStateError, code="MODEL_NOT_LOCKED"):
    """Entities can be created only for a locked model."""


class ModelAlreadyLocked(ModelStateError, code="MODEL_ALREADY_LOCKED"):
    """A locked model can be neither imported again, nor locked, nor deleted."""


class ModelAlreadyUnlocked(ModelStateError, code="MODEL_ALREADY_UNLOCKED"):
    """The model is not locked."""


class ModelHasEntities(ModelStateError, code="MODEL_HAS_ENTITIES"):
    """A model that has entities can be neither unlocked nor deleted."""


class InvalidRequest(InterlockError, code="VALIDATION_FAILED"):
    """The request itself is wrong; a retry does not help."""


class BadRequest(InvalidRequest, code="BAD_REQUEST"):
    """The request cannot be read, or the document does not match the model."""


class GuardRejected(BadRequest, code="GUARD_REJECTED"):
    """The guard of an event does not hold for its data."""


class GuardError(BadRequest, code="GUARD_ERROR"):
    """The guard of an event cannot be evaluated with its data."""


class SignalNotAwaited(BadRequest, code="SIGNAL_NOT_AWAITED"):
    """The saga does not wait for this signal."""


class IncompatibleType(InvalidRequest, code="INCOMPATIBLE_TYPE"):
    """A value has none of the types of its field."""


class PolymorphicSlot(InvalidRequest, code="POLYMORPHIC_SLOT"):
    """An object, a list or a plain value stands where the model has another of these."""


class InvalidChangeLevel(InvalidRequest, code="INVALID_CHANGE_LEVEL"):
    """The change level is unknown."""


class InvalidCondition(InvalidRequest, code="INVALID_CONDITION"):
    """A condition is invalid."""


class ConditionTypeMismatch(InvalidRequest, code="CONDITION_TYPE_MISMATCH"):
    """An operand of a condition is not a value of its field's types."""


class InvalidFieldPath(InvalidRequest, code="INVALID_FIELD_PATH"):
    """A condition or an order names a field that the model does not have."""


class InvalidUniqueKey(InvalidRequest, code="INVALID_UNIQUE_KEY"):
    """A document gives some fields of a unique key and not all of them."""


class InvalidUniqueKeyDefinition(InvalidRequest, code="INVALID_UNIQUE_KEY_DEFINITION"):
    """A field of a unique key is not a scalar of the model, or would no longer be one."""


class InvalidQuery(InvalidRequest, code="MALFORMED_REQUEST"):
    """A query for groups is invalid, or has too many groups."""


for _code in (
    "MISSING_GROUP_BY",
    "INVALID_GROUP_BY_PATH",
    "DUPLICATE_GROUP_BY",
    "INVALID_AGGREGATION_OP",
    "INVALID_AGGREGATION_FIELD",
    "DUPLICATE_AGGREGATION_ALIAS",
    "INVALID_LIMIT",
    "GROUP_CARDINALITY_EXCEEDED",
):
    _BY_CODE[_code] = InvalidQuery


class SearchResultLimit(InvalidRequest, code="SEARCH_RESULT_LIMIT"):
    """More entities match than a search without a limit answers."""


class SearchJobAlreadyTerminal(InvalidRequest, code="SEARCH_JOB_ALREADY_TERMINAL"):
    """A snapshot search that is not running cannot be cancelled."""


class UnknownEventType(InvalidRequest, code="UNKNOWN_EVENT_TYPE"):
    """The server does not know the type of the request."""


class MessageTooLarge(InvalidRequest, code="MESSAGE_TOO_LARGE"):
    """The request is larger than a server accepts; it was not sent."""


class WorkflowFailed(InterlockError, code="WORKFLOW_FAILED"):
    """The workflow rejected it: a criterion, a processor or a limit."""


class ComputeUnavailable(InterlockError):
    """No compute member executed the call; the transition was not made."""


class NoComputeMember(ComputeUnavailable, code="NO_COMPUTE_MEMBER_FOR_TAG"):
    """No connected compute member has the required tags."""


class ComputeMemberDisconnected(ComputeUnavailable, code="COMPUTE_MEMBER_DISCONNECTED"):
    """The compute member disconnected before it responded."""


class DispatchTimeout(ComputeUnavailable, code="DISPATCH_TIMEOUT"):
    """The compute member did not answer in time."""


class DispatchForwardFailed(ComputeUnavailable, code="DISPATCH_FORWARD_FAILED"):
    """The node that the compute member is connected to has not taken the call over."""


class TransactionNodeUnavailable(InterlockError, code="TRANSACTION_NODE_UNAVAILABLE"):
    """The node that began the transaction is gone or cannot be reached."""


class TransactionExpired(InterlockError, code="TRANSACTION_EXPIRED"):
    """A callback came after its transaction's token had expired."""


class AccessError(InterlockError):
    """The caller is not authenticated, or not allowed to do this."""


class Unauthorized(AccessError, code="UNAUTHORIZED"):
    """The caller is not authenticated."""


class TrustedKeyTaken(InterlockError, code="KEY_OWNED_BY_DIFFERENT_TENANT"):
    """Another tenant trusts a key of this name."""


class TooManyTrustedKeys(InvalidRequest, code="TRUSTED_KEY_CAP_REACHED"):
    """The tenant has reached the limit of trusted keys."""


class UnsupportedKeyType(InvalidRequest, code="UNSUPPORTED_KEY_TYPE"):
    """A trusted key is an RSA key."""


class OidcProviderDuplicate(InterlockError, code="OIDC_PROVIDER_DUPLICATE"):
    """The tenant has a provider with this discovery document already."""


class OidcProviderInactive(InterlockError, code="OIDC_PROVIDER_INACTIVE"):
    """A provider that is invalidated cannot be changed: reactivate it first."""


class OidcProviderBlocked(InvalidRequest, code="OIDC_SSRF_BLOCKED"):
    """The provider is not on the public internet."""


class OidcInvalidTenant(InvalidRequest, code="OIDC_INVALID_TENANT"):
    """Only tenants whose ids are UUIDs have providers."""


class FeatureDisabled(InterlockError, code="FEATURE_DISABLED"):
    """The settings of the server have turned this off."""


class Forbidden(AccessError, code="FORBIDDEN"):
    """The caller may not do this."""


class NotSupported(InterlockError, code="NOT_IMPLEMENTED"):
    """The server knows the request but cannot do it yet."""


class LimitError(InterlockError):
    """There is too much of something; `properties["retryAfterMs"]` says how long to wait."""


class TooManyRequests(LimitError, code="TOO_MANY_REQUESTS"):
    """Too many requests are in flight; `properties["retryAfterMs"]` says how long to wait."""


class TenantLimitExceeded(LimitError, code="TENANT_LIMIT_EXCEEDED"):
    """The tenant has reached one of its limits.

    `properties["limit"]` names it, and `properties["retryAfterMs"]` says how long to wait.
    """


class Cancelled(InterlockError, code="CANCELLED"):
    """The request was cancelled before it was done."""


class OutcomeUnknown(InterlockError, code="OUTCOME_UNKNOWN"):
    """It is not known whether the write happened."""


class StorageUnavailable(InterlockError, code="STORAGE_UNAVAILABLE"):
    """The storage is unavailable for writes; retry later."""


class ServerError(InterlockError, code="SERVER_ERROR"):
    """An internal error; the server's log has its cause under the ticket in the message."""


class ConnectionLost(InterlockError, code="CONNECTION_LOST"):
    """There is no connection, or it ended before the answer came.

    When `retryable` the request was not sent. Otherwise it may or may not have been done.
    """


class ClientClosed(ConnectionLost, code="CLIENT_CLOSED"):
    """The client was closed."""


class InvalidOptions(InterlockError, code="INVALID_OPTIONS"):
    """The client was set up wrongly, for instance with an address without a token endpoint."""


class ServerNotUnderstood(InterlockError, code="SERVER_NOT_UNDERSTOOD"):
    """The server is of a version that this client does not understand; use a client of that one."""


class AnswerNotRead(InterlockError, code="ANSWER_NOT_READ"):
    """A streamed answer was dropped because it was not read; see `interlock.stream`."""


def from_answer(error: Mapping[str, Any] | None, warnings: Iterable[str] = ()) -> InterlockError:
    """Make the exception that the `error` and `warnings` members of an answer describe."""
    error = error or {}
    code, colon, message = str(error.get("message", "")).partition(":")
    if not colon:
        code, message = "UNKNOWN", code or "the server reported a failure without a reason"
    return with_code(
        code,
        message.strip(),
        retryable=error.get("retryable") is True,
        properties=error.get("properties") or {},
        warnings=warnings,
    )


def with_code(
    code: str,
    message: str,
    *,
    retryable: bool = False,
    properties: Mapping[str, Any] = MappingProxyType({}),
    warnings: Iterable[str] = (),
) -> InterlockError:
    """Make the exception of a code."""
    kind = _BY_CODE.get(code) or _without_its_own(code)
    return kind(message, code=code, retryable=retryable, properties=properties, warnings=warnings)


def _without_its_own(code: str) -> type[InterlockError]:
    """Return the class of a code that has none of its own."""
    known = CODES.get(code)
    if known and known.status in _INVALID:
        return InvalidRequest
    # Codes of newer servers, too.
    return NotFound if code.endswith("_NOT_FOUND") else InterlockError


_INVALID = (400, 413, 415, 422, 428)
"""The statuses of requests that are wrong themselves."""
