"""What the server answers, as values.

Each class is read from the payload that the server sends; times are aware `datetime`s with
microseconds, as the server keeps them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

from interlock import errors

if TYPE_CHECKING:
    from interlock.api import payloads

    _Credentials = payloads.ClientCreateResponse | payloads.ClientSecretResetResponse
    _KeyPair = (
        payloads.KeyPairGetResponse
        | payloads.KeyPairIssueResponse
        | payloads.KeyPairReactivateResponse
    )
    _TrustedKey = (
        payloads.TrustedKey
        | payloads.TrustedKeyReactivateResponse
        | payloads.TrustedKeyRegisterResponse
    )

Json = Mapping[str, Any]


class ModelKey(NamedTuple):
    """Names a model. A plain `("parcel", 1)` is accepted as well."""

    name: str
    version: int

    @classmethod
    def read(cls, payload: Json) -> ModelKey:
        """Read it from a payload."""
        return cls(payload["name"], payload["version"])


@dataclass(frozen=True, slots=True)
class Model:
    """A model in a list of models."""

    id: str
    key: ModelKey
    is_locked: bool
    """Entities can be created only for a locked model."""
    updated: datetime | None
    """When its shape was last changed."""

    @classmethod
    def read(cls, payload: payloads.Model) -> Model:
        """Read it from a payload."""
        return cls(
            id=payload["id"],
            key=ModelKey.read(payload),
            is_locked=payload["state"] == "LOCKED",
            updated=_time(payload.get("modelUpdateDate")),
        )


@dataclass(frozen=True, slots=True)
class Violation:
    """A violation of a model by a document."""

    path: str
    """Dotted, as in `lines[2].qty`; empty for the document itself."""
    message: str
    expected: tuple[str, ...]
    """What the model has there: types, or a kind of thing; empty where it has no such field."""
    found: str | None
    """What the document has there; `None` where it should have nothing."""

    @classmethod
    def read(cls, payload: payloads.Violation) -> Violation:
        """Read it from a payload."""
        return cls(
            path=payload["path"],
            message=payload["message"],
            expected=tuple(payload["expected"]),
            found=payload.get("found"),
        )


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import of workflows did."""

    model_id: str
    names: tuple[str, ...]
    """Of the workflows in the import."""
    warnings: tuple[str, ...]

    @classmethod
    def read(cls, payload: payloads.EntityWorkflowImportResponse) -> Imported:
        """Read it from a payload."""
        return cls(payload["modelId"], tuple(payload["workflows"]), _warnings(payload))


@dataclass(frozen=True, slots=True)
class Entity:
    """A document, and where it is in its workflow."""

    id: str
    model: ModelKey
    state: str
    data: dict[str, Any]
    """The document; numbers that are not integers are `Decimal`."""
    created: datetime
    updated: datetime
    """When this version was committed."""
    transaction_id: str
    """What wrote this version; what `if_match` compares."""
    last_transition: str | None
    """The transition that the last write named; `loopback` if it named none."""
    point_in_time: datetime | None
    """In a list as of some time: that time."""

    @classmethod
    def read(cls, payload: Json) -> Entity:
        """Read it from the `payload` member of a payload."""
        meta = payload["meta"]
        return cls(
            id=meta["id"],
            model=ModelKey.read(meta["modelKey"]),
            state=meta["state"],
            data=payload["data"],
            created=datetime.fromisoformat(meta["creationDate"]),
            updated=datetime.fromisoformat(meta["lastUpdateTime"]),
            transaction_id=meta["transactionId"],
            last_transition=meta.get("transitionForLatestSave"),
            point_in_time=_time(meta.get("pointInTime")),
        )


class NewEntity(NamedTuple):
    """An entity to create; a plain `(model, data)` is accepted as well."""

    model: tuple[str, int]
    data: Any


@dataclass(frozen=True, slots=True)
class Update:
    """A change of one entity among several."""

    entity_id: str
    data: Any
    """The whole new document."""
    transition: str | None = None
    """The transition to take; with None only automated ones follow."""
    if_match: str | None = None
    """Change it only if this is the transaction that wrote its last version."""


@dataclass(frozen=True, slots=True)
class FailedItem:
    """An update that was left out of its transaction."""

    entity_id: str
    index: int
    """Its place in the chunk, from 0."""
    error: errors.InterlockError


@dataclass(frozen=True, slots=True)
class Chunk:
    """One of the transactions that a write of many was divided into."""

    transaction_id: str | None
    """None if it was rolled back."""
    entity_ids: tuple[str, ...]
    failed: tuple[FailedItem, ...]
    error: errors.InterlockError | None
    """Why nothing of it was done, nor of any chunk after it."""

    @classmethod
    def read(cls, payload: payloads.TransactionChunk) -> Chunk:
        """Read it from a payload."""
        failed = (
            FailedItem(
                entity_id=item["entityId"],
                index=item["error"]["itemIndex"],
                error=errors.with_code(item["error"]["code"], item["error"]["message"]),
            )
            for item in payload.get("failed", ())
        )
        return cls(
            transaction_id=payload.get("transactionId"),
            entity_ids=tuple(payload["entityIds"]),
            failed=tuple(failed),
            error=errors.from_answer(payload["error"]) if "error" in payload else None,
        )


@dataclass(frozen=True, slots=True)
class Written:
    """What a write did."""

    transaction_id: str | None
    """The transaction; of several the first. None if that one was rolled back."""
    entity_ids: tuple[str, ...]
    """What it wrote, in the order of the request."""
    chunks: tuple[Chunk, ...]
    """Every transaction, where there may be several or where items were left out."""
    warnings: tuple[str, ...]

    @property
    def entity_id(self) -> str:
        """The one entity that was written.

        Raises:
            ValueError: it was not one.

        """
        (only,) = self.entity_ids
        return only

    @classmethod
    def read(cls, payload: payloads.EntityTransactionResponse) -> Written:
        """Read it from a payload."""
        info = payload["transactionInfo"]
        return cls(
            transaction_id=info.get("transactionId"),
            entity_ids=tuple(info["entityIds"]),
            chunks=tuple(map(Chunk.read, payload.get("chunks", ()))),
            warnings=_warnings(payload),
        )


@dataclass(frozen=True, slots=True)
class Deleted:
    """What deleting an entity did."""

    entity_id: str
    model: ModelKey
    transaction_id: str

    @classmethod
    def read(cls, payload: payloads.EntityDeleteResponse) -> Deleted:
        """Read it from a payload."""
        model = ModelKey.read(payload["model"])
        return cls(payload["entityId"], model, payload["transactionId"])


@dataclass(frozen=True, slots=True)
class AllDeleted:
    """What deleting the entities of a model did."""

    model_id: str
    count: int
    entity_ids: tuple[str, ...]
    """Their ids; empty unless requested."""
    errors: Mapping[str, str]
    """Why the named ones, which matched at the requested time, were not deleted."""

    @classmethod
    def read(cls, payload: payloads.EntityDeleteAllResponse) -> AllDeleted:
        """Read it from a payload."""
        return cls(
            payload["modelId"],
            payload["numDeleted"],
            tuple(payload["entityIds"]),
            payload.get("errorsById", {}),
        )


@dataclass(frozen=True, slots=True)
class Transitioned:
    """What a transition led to."""

    available: tuple[str, ...]
    """The transitions of the state that the entity is in now."""
    warnings: tuple[str, ...]

    @classmethod
    def read(cls, payload: payloads.EntityTransitionResponse) -> Transitioned:
        """Read it from a payload."""
        return cls(tuple(payload.get("availableTransitions", ())), _warnings(payload))


@dataclass(frozen=True, slots=True)
class Change:
    """One entry in the history of an entity."""

    kind: str
    """`CREATE`, `UPDATE` or `DELETE`."""
    at: datetime
    user: str
    """To whom it is attributed."""
    executor: Executor
    """Who executed it: the same, or a compute member or the server on its behalf."""
    transaction_id: str | None

    @classmethod
    def read(cls, payload: payloads.EntityChangesMetadataResponse) -> Change:
        """Read it from a payload."""
        meta = payload["changeMeta"]
        return cls(
            kind=meta["changeType"],
            at=datetime.fromisoformat(meta["timeOfChange"]),
            user=meta["user"],
            executor=Executor.read(meta["executedBy"]),
            transaction_id=meta.get("transactionId"),
        )


@dataclass(frozen=True, slots=True)
class ConnectedMember:
    """A compute member that is connected."""

    id: str
    tags: tuple[str, ...]
    node: str
    """The process it is connected to."""
    joined: datetime
    last_seen: datetime
    """When something last came from it."""
    in_flight: int
    """How many calls it has not answered yet."""
    served: int
    """How many calls it has done as it was asked."""
    failed: int
    """How many it rejected, or did not answer in time."""

    @classmethod
    def read(cls, payload: payloads.ComputeMember) -> ConnectedMember:
        """Read it from a payload."""
        return cls(
            id=payload["memberId"],
            tags=tuple(payload["tags"]),
            node=payload["node"],
            joined=datetime.fromisoformat(payload["joinedAt"]),
            last_seen=datetime.fromisoformat(payload["lastSeen"]),
            in_flight=payload["inFlight"],
            served=payload["served"],
            failed=payload["failed"],
        )


@dataclass(frozen=True, slots=True)
class ServiceNode:
    """A process that uses the database of the service."""

    name: str
    address: str
    """Where other nodes reach it by gRPC."""
    version: str
    live: bool
    """Whether it has said lately that it is there."""
    members: int
    """How many compute members are connected to it, of all tenants."""
    beat_age: timedelta
    """How long ago it said so last."""

    @classmethod
    def read(cls, payload: payloads.ServiceNode) -> ServiceNode:
        """Read it from a payload."""
        return cls(
            name=payload["name"],
            address=payload["address"],
            version=payload["version"],
            live=payload["live"],
            members=payload["members"],
            beat_age=timedelta(milliseconds=payload["beatAgeMs"]),
        )


@dataclass(frozen=True, slots=True)
class FeedChange:
    """One entry in the change feed."""

    sequence: int
    """Its position in the feed, to resume after."""
    entity_id: str
    model: ModelKey
    state: str
    """The state that the entity is in after the change; the last one, if it was deleted."""
    kind: str
    """`CREATE`, `UPDATE` or `DELETE`."""
    at: datetime
    transaction_id: str
    data: dict[str, Any] | None
    """The document, if it was requested; None for a deletion."""

    @classmethod
    def read(cls, payload: payloads.EntityChangeEvent) -> FeedChange:
        """Read it from a payload."""
        return cls(
            sequence=payload["sequence"],
            entity_id=payload["entityId"],
            model=ModelKey.read(payload["model"]),
            state=payload["state"],
            kind=payload["changeType"],
            at=datetime.fromisoformat(payload["timeOfChange"]),
            transaction_id=payload["transactionId"],
            data=payload.get("data"),
        )


class Complete(NamedTuple):
    """In a live search: the result is complete."""

    sequence: int
    """The position in the feed, to resume after."""


@dataclass(frozen=True, slots=True)
class Turn:
    """In a live search: what a change did to what fits."""

    turn: str
    """`entered`, `changed` or `left`."""
    change: FeedChange

    @property
    def sequence(self) -> int:
        """Its position in the feed, to resume after."""
        return self.change.sequence

    @property
    def entity_id(self) -> str:
        """The entity that it is about."""
        return self.change.entity_id

    @property
    def data(self) -> dict[str, Any] | None:
        """The document, if it was requested; None for entities that left."""
        return self.change.data

    @classmethod
    def read(cls, payload: payloads.EntityChangeEvent) -> Turn:
        """Read it from a payload."""
        return cls(turn=payload["change"], change=FeedChange.read(payload))


class Executor(NamedTuple):
    """The principal of a change."""

    id: str
    kind: str
    """`user`, `service` or `system`."""

    @classmethod
    def read(cls, payload: Json) -> Executor:
        """Read it from a payload."""
        return cls(payload["id"], payload["kind"])


@dataclass(frozen=True, slots=True)
class AuditedChange:
    """In the audit trail of an entity: a change of it."""

    entity_id: str
    kind: str
    """`CREATE`, `UPDATE` or `DELETE`."""
    at: datetime
    severity: str
    user: str
    """To whom it is attributed."""
    executor: Executor
    """Who did it: the same, or a compute member or the server on behalf of that one."""
    transaction_id: str | None

    @classmethod
    def read(cls, payload: payloads.AuditEventEntityChange) -> AuditedChange:
        """Read it from a payload."""
        return cls(
            entity_id=payload["entityId"],
            kind=payload["changeType"],
            at=datetime.fromisoformat(payload["utcTime"]),
            severity=payload["severity"],
            user=payload["actor"]["id"],
            executor=Executor.read(payload["executedBy"]),
            transaction_id=payload.get("transactionId"),
        )


@dataclass(frozen=True, slots=True)
class AuditedStep:
    """In the audit trail of an entity: a step of its state machine."""

    entity_id: str
    kind: str
    """`STATE_MACHINE_START`, `TRANSITION_MAKE`, `TRANSITION_NOT_MATCH_CRITERION`, …"""
    at: datetime
    severity: str
    state: str | None
    """Before a move; at the end of a run where it led."""
    details: str
    """The step in words."""
    data: dict[str, Any] | None
    """Details by kind, for instance the `criterion` that did not hold and its `reason`."""
    transaction_id: str | None
    """The transaction that the run began with."""

    @classmethod
    def read(cls, payload: payloads.AuditEventStateMachine) -> AuditedStep:
        """Read it from a payload."""
        return cls(
            entity_id=payload["entityId"],
            kind=payload["eventType"],
            at=datetime.fromisoformat(payload["utcTime"]),
            severity=payload["severity"],
            state=payload.get("state"),
            details=payload["details"],
            data=payload["data"],
            transaction_id=payload.get("transactionId"),
        )


Audited = AuditedChange | AuditedStep
"""One thing that happened to an entity."""


@dataclass(frozen=True, slots=True)
class Message:
    """A message that was kept."""

    header: dict[str, Any]
    """`subject`, `contentType`, `contentLength`, `contentEncoding`, and what else was given."""
    metadata: dict[str, Any]
    content: Any

    @classmethod
    def read(cls, payload: payloads.MessageGetResponse) -> Message:
        """Read it from an answer."""
        return cls({**payload["header"]}, payload["metaData"], payload["content"])


@dataclass(frozen=True, slots=True)
class Account:
    """Who is calling, as the server sees it."""

    user_id: str
    user_name: str
    tenant_id: str
    tenant_name: str
    roles: tuple[str, ...]

    @classmethod
    def read(cls, payload: payloads.AccountGetResponse) -> Account:
        """Read it from an answer."""
        info = payload["userAccountInfo"]
        return cls(
            user_id=info["userId"],
            user_name=info["userName"],
            tenant_id=info["legalEntity"]["id"],
            tenant_name=info["legalEntity"]["name"],
            roles=tuple(role["id"] for role in info["roles"]),
        )


@dataclass(frozen=True, slots=True)
class TokenClient:
    """A client that may get tokens."""

    id: str
    roles: tuple[str, ...]
    created: datetime
    updated: datetime
    """When it got its secret."""

    @classmethod
    def read(cls, payload: payloads.Client) -> TokenClient:
        """Read it from a payload."""
        return cls(
            id=payload["clientId"],
            roles=tuple(payload["roles"]),
            created=datetime.fromisoformat(payload["creationDate"]),
            updated=datetime.fromisoformat(payload["lastUpdateDate"]),
        )


@dataclass(frozen=True, slots=True)
class Credentials:
    """What a client gets tokens with."""

    id: str
    secret: str = field(repr=False)
    """Returned once; the server does not store it."""
    roles: tuple[str, ...]

    @classmethod
    def read(cls, payload: _Credentials) -> Credentials:
        """Read them from an answer."""
        return cls(payload["clientId"], payload["clientSecret"], tuple(payload["roles"]))


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A key pair of a tenant, which signs tokens; its private key is never returned."""

    id: str
    """The `kid` of the tokens that it signs."""
    algorithm: str
    public_key: str
    """`SubjectPublicKeyInfo` in base64."""
    is_active: bool
    """It is not invalidated, and its time is not over."""
    valid_from: datetime
    valid_to: datetime | None
    """None of the key of the server's settings."""

    @classmethod
    def read(
        cls,
        payload: payloads.KeyPairGetResponse
        | payloads.KeyPairIssueResponse
        | payloads.KeyPairReactivateResponse,
    ) -> KeyPair:
        """Read it from an answer."""
        end = payload.get("validTo")
        return cls(
            id=payload["keyId"],
            algorithm=payload["algorithm"],
            public_key=payload["publicKey"],
            is_active=payload["active"],
            valid_from=datetime.fromisoformat(payload["validFrom"]),
            valid_to=datetime.fromisoformat(end) if end else None,
        )


@dataclass(frozen=True, slots=True)
class TrustedKey:
    """A key that a tenant trusts: what it signs is exchanged for tokens."""

    id: str
    """The `kid` of the tokens that it signs."""
    tenant: str
    jwk: Json
    audience: str
    issuers: tuple[str, ...]
    """The accepted issuers; any if empty."""
    is_active: bool
    """It is not invalidated, and its time is not over."""
    valid_from: datetime
    valid_to: datetime

    @classmethod
    def read(
        cls,
        payload: payloads.TrustedKey
        | payloads.TrustedKeyReactivateResponse
        | payloads.TrustedKeyRegisterResponse,
    ) -> TrustedKey:
        """Read it from an answer."""
        return cls(
            id=payload["keyId"],
            tenant=payload["legalEntityId"],
            jwk=payload["jwk"],
            audience=payload["audience"],
            issuers=tuple(payload.get("issuers", ())),
            is_active=payload["active"],
            valid_from=datetime.fromisoformat(payload["validFrom"]),
            valid_to=datetime.fromisoformat(payload["validTo"]),
        )


@dataclass(frozen=True, slots=True)
class OidcProvider:
    """An OpenID Connect provider that a tenant trusts."""

    id: str
    well_known_config_uri: str
    """Where its discovery document is."""
    is_active: bool
    created: datetime
    issuers: tuple[str, ...]
    """Who issues its tokens; the issuer of the document, if there are none."""
    expected_audiences: tuple[str, ...]
    """For whom its tokens are; anyone, if there are none."""
    roles_claim: str | None
    """The claim with the roles; if None, that of the server's settings."""

    @classmethod
    def read(cls, payload: payloads.OidcProvider) -> OidcProvider:
        """Read it from an answer."""
        return cls(
            id=payload["id"],
            well_known_config_uri=payload["wellKnownConfigUri"],
            is_active=payload["active"],
            created=datetime.fromisoformat(payload["createdAt"]),
            issuers=tuple(payload.get("issuers", ())),
            expected_audiences=tuple(payload.get("expectedAudiences", ())),
            roles_claim=payload.get("rolesClaim"),
        )


@dataclass(frozen=True, slots=True)
class Incident:
    """Work that has stopped after it failed too often."""

    incident_id: str
    kind: Literal["run", "timer", "producer"]
    reason: str
    """Why it failed last."""
    tries: int
    since: datetime
    run_id: str | None = None
    entity_id: str | None = None
    name: str | None = None
    """The definition of a run, schedule or trigger; the transition of a timer."""

    @classmethod
    def read(cls, payload: payloads.Incident) -> Incident:
        """Read it from a payload."""
        return cls(
            incident_id=payload["incidentId"],
            kind=cast(Literal["run", "timer", "producer"], payload["kind"]),
            reason=payload["reason"],
            tries=payload["tries"],
            since=datetime.fromisoformat(payload["since"]),
            run_id=payload.get("runId"),
            entity_id=payload.get("entityId"),
            name=payload.get("name"),
        )


@dataclass(frozen=True, slots=True)
class Sampler:
    """Which requests a server would trace."""

    name: Literal["always", "never", "ratio"]
    ratio: float | None = None
    """With `ratio`, and only with it: which part of them, above 0 and at most 1."""
    parent_based: bool = True
    """A request that is part of a trace is traced if that is."""

    @classmethod
    def read(cls, payload: payloads.TraceSamplerGetResponse) -> Sampler:
        """Read it from an answer."""
        name = cast(Literal["always", "never", "ratio"], payload["sampler"])
        ratio = payload.get("ratio")
        return cls(name, None if ratio is None else float(ratio), payload["parentBased"])


def audited(payload: payloads.AuditEventEntityChange | payloads.AuditEventStateMachine) -> Audited:
    """Read an item of an audit trail from a payload."""
    if payload["auditEventType"] == "EntityChange":
        return AuditedChange.read(payload)
    return AuditedStep.read(payload)


@dataclass(frozen=True, slots=True)
class Count:
    """How many entities a model has, or has in one state."""

    model: ModelKey
    count: int
    state: str | None
    """None in a count over all states."""

    @classmethod
    def read(cls, payload: Json) -> Count:
        """Read it from a payload."""
        model = ModelKey(payload["modelName"], payload["modelVersion"])
        return cls(model, payload["count"], payload.get("state"))


@dataclass(frozen=True, slots=True)
class Group:
    """Entities that have something in common."""

    key: dict[str, str | None]
    """What they are grouped by, and the text of its value; None where there is none."""
    count: int
    aggregations: dict[str, int | Decimal | None]
    """By name; None where there is no such number."""

    @classmethod
    def read(cls, payload: payloads.StatsGroup) -> Group:
        """Read it from a payload."""
        key = {part["path"]: part["value"] for part in payload["groupKey"]}
        return cls(key, payload["count"], dict(payload.get("aggregations", {})))


@dataclass(frozen=True, slots=True)
class Index:
    """A search index of a model."""

    path: str
    state: str
    """`FILLING`, `READY` or `DROPPING`."""
    declared: bool
    """Whether it was declared."""

    @classmethod
    def read(cls, payload: payloads.Index) -> Index:
        """Read it from a payload."""
        return cls(path=payload["path"], state=payload["state"], declared=payload["declared"])


@dataclass(frozen=True, slots=True)
class SearchExplanation:
    """How a search was served."""

    served_by: tuple[str, ...]
    """The paths of the indexes that served it, or `state`; empty if it looked at everything."""
    visited: int
    """How many entities were looked at."""
    returned: int
    took: timedelta
    indexable: tuple[str, ...]
    """The paths that an index could serve it by."""
    indexes: tuple[Index, ...]
    """Those of the model."""

    @classmethod
    def read(cls, payload: payloads.EntitySearchExplainResponse) -> SearchExplanation:
        """Read it from a payload."""
        return cls(
            served_by=tuple(payload["servedBy"]),
            visited=payload["visited"],
            returned=payload["returned"],
            took=timedelta(microseconds=payload["micros"]),
            indexable=tuple(payload["indexable"]),
            indexes=tuple(Index.read(item) for item in payload["indexes"]),
        )


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A search that runs on its own and whose result is kept for a while."""

    id: str
    status: str
    """`RUNNING`, `SUCCESSFUL`, `FAILED`, `CANCELLED` or `NOT_FOUND`."""
    count: int | None
    """How many entities match."""
    expires: datetime | None
    """When the result is thrown away."""

    @classmethod
    def read(cls, payload: payloads.EntitySnapshotSearchResponse) -> Snapshot:
        """Read it from a payload."""
        status = payload["status"]
        return cls(
            id=status["snapshotId"],
            status=status["status"],
            count=status.get("entitiesCount"),
            expires=_time(status.get("expirationDate")),
        )


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def _warnings(payload: Json) -> tuple[str, ...]:
    return tuple(payload.get("warnings", ()))
