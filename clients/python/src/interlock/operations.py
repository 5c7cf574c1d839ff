"""The operations of a server, one method for each event type.

To add an operation: a method here that passes the type and the payload of its request to `call`
or to `stream`, and in `records` the class of what it answers.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import aclosing
from datetime import datetime, timedelta
from typing import Any, Literal, Protocol, TypedDict

from interlock import errors, events
from interlock.cloudevents_pb2 import CloudEvent
from interlock.explanation import Explanation
from interlock.files import Files
from interlock.managers import Managers
from interlock.records import (
    Account,
    AllDeleted,
    Audited,
    AuditedStep,
    Change,
    Complete,
    ConnectedMember,
    Count,
    Credentials,
    Deleted,
    Entity,
    FeedChange,
    Group,
    Imported,
    Incident,
    Index,
    KeyPair,
    Message,
    Model,
    NewEntity,
    OidcProvider,
    Sampler,
    SearchExplanation,
    Snapshot,
    TokenClient,
    Transitioned,
    TrustedKey,
    Turn,
    Update,
    Violation,
    Written,
    audited,
)
from interlock.runs import Runs
from interlock.stream import Answer

ModelName = tuple[str, int]
"""The name and the version of a model."""

ChangeLevel = Literal["ARRAY_LENGTH", "ARRAY_ELEMENTS", "TYPE", "STRUCTURAL"]
"""How far entities may widen their model."""

KeyAudience = Literal["client", "human"]
"""Whose tokens a key pair signs."""

Condition = Mapping[str, Any]
"""A condition as JSON; `{"type": "group", "operator": "AND", "conditions": []}` matches all."""


log = logging.getLogger("interlock")

# The delay between two attempts to resume a feed, in seconds: doubling, with jitter.
_FIRST_DELAY = 0.1
_LONGEST_DELAY = 5.0

AUDIT_PAGE = 1000
"""How many items of an audit trail are requested at a time: the server's maximum."""


class OrderBy(TypedDict, total=False):
    """One key of an order; entities that are equal in all of them are ordered by their ids."""

    path: str
    """`$.a.b`, or with the source `meta` one of `state`, `creationDate`, …; required."""
    source: Literal["data", "meta"]
    desc: bool


Aggregation = TypedDict(
    "Aggregation",
    {"op": Literal["sum", "avg", "min", "max", "stdev"], "field": str, "as": str},
    total=False,
)
"""An aggregate of a field of a group; `op` and `field` are required."""


class UniqueKey(TypedDict):
    """Fields whose values no two entities of a model may share."""

    id: str
    fields: list[str]


class Asker(Protocol):
    """What can send a request."""

    async def ask(self, kind: str, payload: Mapping[str, Any], *, key: str | None = None) -> Answer:
        """Send a request; the answer is used as a context."""

    def listen(self, kind: str, payload: Mapping[str, Any]) -> AsyncGenerator[CloudEvent, None]:
        """Send a request with an endless answer; yield the events as they arrive."""


class Operations:
    """The operations of a server.

    Every method can be cancelled; the server then stops what it has not committed yet.
    Besides the exceptions it documents, every method may raise

    * `ConnectionLost` when there is no connection or when it ends before the answer,
    * `ValidationError` when the request is invalid,
    * `Forbidden`, `TooManyRequests`, `TenantLimitExceeded`, `StorageUnavailable` or `ServerError`,
    * in a compute member's callback `TransactionNotFound` or `TransactionExpired`.

    All of these are `InterlockError`s.

    Every method that writes accepts an `idempotency_key`, a text of the caller's choice: the
    request is then performed once, and a repeat with the same key, for instance after a lost
    connection, returns the first answer. A failed request may be repeated. Another request with
    the same key is an `IdempotencyConflict`. Servers keep keys for a limited time, usually a day.
    """

    def __init__(self, asker: Asker) -> None:
        """Send requests through `asker`."""
        self._asker = asker

    @property
    def runs(self) -> Runs:
        """Step workflows: definitions, runs, actions, tasks, workers and topics."""
        return Runs(self)

    @property
    def files(self) -> Files:
        """JSON documents under paths."""
        return Files(self)

    @property
    def managers(self) -> Managers:
        """Batches kept in files, whose items workers do."""
        return Managers(self)

    # Any event type.

    async def call(
        self,
        event_type: str,
        payload: Mapping[str, Any],
        *,
        idempotency_key: str | None = None,
    ) -> dict[str, Any]:
        """Send any request with a single answer, and return its payload.

        The `id` of the request's payload is added.

        Raises:
            TypeError: the answer is a streamed one; use `stream`.

        """
        async with await self._asker.ask(event_type, payload, key=idempotency_key) as answer:
            event = await answer.next()
            if event is None or events.SEQUENCE in event.attributes:
                raise TypeError(f"{event_type} has a streamed answer; use `stream`")
            return events.answer(event)

    async def stream(
        self, event_type: str, payload: Mapping[str, Any]
    ) -> AsyncGenerator[dict[str, Any], None]:
        """Send any request with a streamed answer, and yield the payloads as they arrive.

        Leaving the iteration early cancels the request.

        Raises:
            TypeError: the answer is a single one; use `call`.

        """
        async with await self._asker.ask(event_type, payload) as answer:
            came = 0
            while (event := await answer.next()) is not None:
                if events.SEQUENCE in event.attributes:
                    # A failure is reported twice; the second event ends the answer.
                    item = events.payload(event)
                    if item.get("success") is not False:
                        came += 1
                        yield item
                elif (sent := events.answer(event).get("count")) is None:
                    raise TypeError(f"{event_type} has a single answer; use `call`")
                elif sent != came:
                    raise errors.ServerError(f"{sent} answers were sent, but {came} arrived")

    async def listen(
        self, event_type: str, payload: Mapping[str, Any]
    ) -> AsyncGenerator[dict[str, Any], None]:
        """Send any request with an endless answer, on a call of its own, and yield the payloads.

        Raises:
            NotSupported: within the transaction of a calculation.

        """
        async with aclosing(self._asker.listen(event_type, payload)) as answers:
            async for event in answers:
                yield events.answer(event)

    # Models.

    async def import_model(
        self,
        model: ModelName,
        sample: Any,
        *,
        converter: Literal["SAMPLE_DATA", "SIMPLE_VIEW"] = "SAMPLE_DATA",
        idempotency_key: str | None = None,
    ) -> str:
        """Create a model from a sample, or widen one by it; return its id.

        Raises:
            ModelAlreadyLocked: only an unlocked model can be changed.

        """
        payload = {"dataFormat": "JSON", "converter": converter, "payload": sample}
        answer = await self.call(
            "EntityModelImportRequest", _of(model) | payload, idempotency_key=idempotency_key
        )
        return str(answer["modelId"])

    async def export_model(
        self, model: ModelName, converter: Literal["SIMPLE_VIEW", "JSON_SCHEMA"] = "SIMPLE_VIEW"
    ) -> dict[str, Any]:
        """Return the schema of a model as a document.

        Raises:
            ModelNotFound: there is none.

        """
        payload = _of(model) | {"converter": converter}
        answer = await self.call("EntityModelExportRequest", payload)
        exported: dict[str, Any] = answer["payload"]
        return exported

    async def lock_model(self, model: ModelName, *, idempotency_key: str | None = None) -> None:
        """Lock a model, so that entities can be created.

        Raises:
            ModelNotFound: there is none.
            ModelAlreadyLocked: it is.

        """
        await self.call(
            "EntityModelTransitionRequest",
            _of(model) | {"transition": "LOCK"},
            idempotency_key=idempotency_key,
        )

    async def unlock_model(self, model: ModelName, *, idempotency_key: str | None = None) -> None:
        """Unlock a model, so that it can be changed.

        Raises:
            ModelNotFound: there is none.
            ModelAlreadyUnlocked: it is.
            ModelHasEntities: and as long as it has, it stays locked.

        """
        await self.call(
            "EntityModelTransitionRequest",
            _of(model) | {"transition": "UNLOCK"},
            idempotency_key=idempotency_key,
        )

    async def delete_model(self, model: ModelName, *, idempotency_key: str | None = None) -> None:
        """Delete an unlocked model.

        Raises:
            ModelNotFound: there is none.
            ModelAlreadyLocked: unlock it first.
            ModelHasEntities: delete them first.

        """
        await self.call("EntityModelDeleteRequest", _of(model), idempotency_key=idempotency_key)

    async def list_models(self) -> list[Model]:
        """List the models of the caller's tenant."""
        answer = await self.call("EntityModelGetAllRequest", {})
        return [Model.read(item) for item in answer["models"]]

    async def set_change_level(
        self, model: ModelName, level: ChangeLevel, *, idempotency_key: str | None = None
    ) -> None:
        """Let new and updated entities widen a model, each level by what the ones before do too.

        `ARRAY_LENGTH` lets lists be longer, `ARRAY_ELEMENTS` have elements of other types, `TYPE`
        fields have values of other types, and `STRUCTURAL` lets entities have new fields. A level
        can be changed at any time, but not removed.

        Raises:
            ModelNotFound: there is no such model.
            InvalidChangeLevel: there is no such level.

        """
        payload = _of(model) | {"changeLevel": level}
        await self.call(
            "EntityModelSetChangeLevelRequest", payload, idempotency_key=idempotency_key
        )

    async def validate(self, model: ModelName, document: Any) -> list[Violation]:
        """Return every violation of a model by a document; none if it matches.

        The change level of the model does not count. Of more than a thousand places the first
        thousand are given.

        Raises:
            ModelNotFound: there is no such model.

        """
        answer = await self.call("EntityModelValidateRequest", _of(model) | {"payload": document})
        return [Violation.read(item) for item in answer["errors"]]

    async def set_unique_keys(
        self, model: ModelName, keys: Sequence[UniqueKey], *, idempotency_key: str | None = None
    ) -> None:
        """Replace the unique keys of an unlocked model; an empty list clears them.

        Raises:
            ModelNotFound: there is no such model.
            ModelAlreadyLocked: the model is locked.
            InvalidUniqueKeyDefinition: a key is given twice, or a field is no scalar.

        """
        payload = _of(model) | {"uniqueKeys": keys}
        await self.call("EntityModelSetUniqueKeysRequest", payload, idempotency_key=idempotency_key)

    async def set_indexes(self, model: ModelName, paths: Sequence[str]) -> list[Index]:
        """Replace the declared search indexes of a model; they are filled in the background.

        Raises:
            ModelNotFound: there is no such model.
            InvalidFieldPath: a path leads to no scalar of the model.

        """
        payload = _of(model) | {"indexes": [{"path": path} for path in paths]}
        answer = await self.call("EntityModelSetIndexesRequest", payload)
        return [Index.read(item) for item in answer["indexes"]]

    # Workflows.

    async def import_workflows(
        self,
        model: ModelName,
        workflows: Sequence[Mapping[str, Any]],
        *,
        mode: Literal["MERGE", "REPLACE", "ACTIVATE"] = "MERGE",
        allow_cycles: bool = False,
        idempotency_key: str | None = None,
    ) -> Imported:
        """Import workflows into a model.

        `MERGE` replaces those of the same names, `REPLACE` all, and `ACTIVATE` those of the same
        names while it makes the others inactive. `allow_cycles` takes even workflows whose
        automated transitions lead in a circle without a criterion.

        Raises:
            ModelNotFound: there is no such model.
            ValidationError: a workflow violates a rule; the message names the rule and the place.

        """
        payload = {"importMode": mode, "allowCycles": allow_cycles, "workflows": workflows}
        return Imported.read(
            await self.call(
                "EntityWorkflowImportRequest", _of(model) | payload, idempotency_key=idempotency_key
            )
        )

    async def export_workflows(self, model: ModelName) -> list[dict[str, Any]]:
        """Export the workflows of a model.

        Raises:
            ModelNotFound: there is no such model.
            WorkflowNotFound: it has none.

        """
        answer = await self.call("EntityWorkflowExportRequest", _of(model))
        return list(answer["workflows"])

    async def draw_workflows(
        self, model: ModelName, language: Literal["mermaid", "dot"] = "mermaid"
    ) -> str:
        """Draw the workflows of a model, in the language of Mermaid or Graphviz.

        It shows states, transitions and what makes them fire, guards, and processors.

        Raises:
            ModelNotFound: there is no such model.
            WorkflowNotFound: it has no workflows.

        """
        payload = _of(model) | {"format": language}
        return str((await self.call("EntityWorkflowDiagramRequest", payload))["text"])

    # Writes. All of them may raise `Conflict`, `WorkflowFailed` and `ComputeUnavailable`; in each
    # case nothing was written.

    async def create(
        self, model: ModelName, data: Any, *, idempotency_key: str | None = None
    ) -> Written:
        """Create an entity, and run the automated transitions of its workflow.

        A list makes one entity of each item, in one transaction.

        Raises:
            ModelNotFound: there is no such model.
            ModelNotLocked: it is not ready for entities.
            IncompatibleType, BadRequest: the document does not have the model's shape.
            WorkflowFailed: a processor, a criterion or a limit ended the run.
            ComputeUnavailable: no compute member executed a call of the workflow.

        """
        payload = {"dataFormat": "JSON", "payload": _of(model) | {"data": data}}
        return Written.read(
            await self.call("EntityCreateRequest", payload, idempotency_key=idempotency_key)
        )

    async def create_many(
        self,
        entities: Iterable[NewEntity | tuple[ModelName, Any]],
        *,
        chunk_size: int | None = None,
        idempotency_key: str | None = None,
    ) -> Written:
        """Create entities of any models: all in one transaction, or in several of a given size.

        With several, a failure of the first is raised, and a later one is reported in
        `Written.chunks`.

        Raises:
            InterlockError: as `create`; the message names the item.

        """
        payloads = [_of(model) | {"data": data} for model, data in entities]
        payload = {"dataFormat": "JSON", "payloads": payloads} | _given(chunkSize=chunk_size)
        return Written.read(
            await self.call(
                "EntityCreateCollectionRequest", payload, idempotency_key=idempotency_key
            )
        )

    async def update(
        self,
        entity_id: str,
        data: Any,
        *,
        transition: str | None = None,
        if_match: str | None = None,
        idempotency_key: str | None = None,
    ) -> Written:
        """Replace the document of an entity and take a transition.

        Without one the entity takes what is automated from the state it is in. With `if_match` it
        is changed only if that transaction wrote its last version.

        Raises:
            EntityNotFound: there is no such entity.
            TransitionNotFound: its state has no such transition.
            EntityModified: it has another version than `if_match`.
            Conflict: another transaction changed it meanwhile.
            InterlockError: otherwise as `create`.

        """
        change = _change(Update(entity_id, data, transition, if_match))
        payload = {"dataFormat": "JSON", "payload": change}
        return Written.read(
            await self.call("EntityUpdateRequest", payload, idempotency_key=idempotency_key)
        )

    async def update_many(
        self,
        updates: Iterable[Update],
        *,
        chunk_size: int | None = None,
        idempotency_key: str | None = None,
    ) -> Written:
        """Change entities: all in one transaction, or in several of a given size.

        Items with a stale `if_match` are left out and reported in `Written.chunks`; any other
        failure ends the transaction.

        Raises:
            InterlockError: as `update`; the message names the item.

        """
        payload = {"dataFormat": "JSON", "payloads": [_change(update) for update in updates]}
        payload |= _given(chunkSize=chunk_size)
        return Written.read(
            await self.call(
                "EntityUpdateCollectionRequest", payload, idempotency_key=idempotency_key
            )
        )

    async def patch(
        self,
        entity_id: str,
        patch: Any,
        *,
        if_match: str,
        transition: str | None = None,
        patch_format: Literal["MERGE_PATCH", "JSON_PATCH"] = "MERGE_PATCH",
        idempotency_key: str | None = None,
    ) -> Written:
        """Change parts of a document; `if_match="*"` whatever its version is.

        Raises:
            Conflict: `if_match` names another version than the newest one.
            ValidationError: the patch cannot be applied, or breaks the model.
            InterlockError: as `update`.

        """
        change = {"entityId": entity_id, "patch": patch, "ifMatch": if_match}
        change |= _given(transition=transition)
        payload = {"patchFormat": patch_format, "payload": change}
        return Written.read(
            await self.call("EntityPatchRequest", payload, idempotency_key=idempotency_key)
        )

    async def transition(
        self, entity_id: str, transition: str, *, idempotency_key: str | None = None
    ) -> Transitioned:
        """Take a transition, leaving the document as it is.

        Raises:
            EntityNotFound: there is no such entity.
            TransitionNotFound: its state has no such transition.
            WorkflowFailed: the transition's criterion does not hold, or the run failed.
            InterlockError: otherwise as `update`.

        """
        payload = {"entityId": entity_id, "transition": transition}
        return Transitioned.read(
            await self.call("EntityTransitionRequest", payload, idempotency_key=idempotency_key)
        )

    async def delete(self, entity_id: str, *, idempotency_key: str | None = None) -> Deleted:
        """Delete an entity; its history stays.

        Raises:
            EntityNotFound: there is no such entity.

        """
        return Deleted.read(
            await self.call(
                "EntityDeleteRequest", {"entityId": entity_id}, idempotency_key=idempotency_key
            )
        )

    async def delete_all(
        self,
        model: ModelName,
        *,
        point_in_time: datetime | None = None,
        list_ids: bool = False,
        condition: Condition | None = None,
        idempotency_key: str | None = None,
    ) -> AllDeleted:
        """Delete the entities of a model: all, those there were at a time, those that match.

        `list_ids` has the answer say which they were.

        Raises:
            ModelNotFound: there is no such model.
            InvalidCondition: the condition is none; nothing was deleted.

        """
        payload = _of(model) | {"verbose": list_ids}
        payload |= _given(pointInTime=_instant(point_in_time), condition=condition)
        return AllDeleted.read(
            await self.call("EntityDeleteAllRequest", payload, idempotency_key=idempotency_key)
        )

    # Reads.

    async def get(
        self,
        entity_id: str,
        *,
        point_in_time: datetime | None = None,
        transaction_id: str | None = None,
    ) -> Entity:
        """Read an entity: as it is, as it was at a time, or as a transaction left it.

        Raises:
            EntityNotFound: there is no such entity, or there was not.

        """
        payload = {"entityId": entity_id} | _as_of(point_in_time, transaction_id)
        return Entity.read((await self.call("EntityGetRequest", payload))["payload"])

    def list_entities(
        self,
        model: ModelName,
        *,
        page_size: int | None = None,
        page_number: int | None = None,
        point_in_time: datetime | None = None,
    ) -> AsyncGenerator[Entity, None]:
        """Read a page of the entities of a model, in the order of their ids.

        A page has 20 entities unless `page_size` says otherwise, 10 000 at most; the first one
        has the number 0.

        Raises:
            ModelNotFound: there is no such model.

        """
        payload = _of(model) | _given(
            pageSize=page_size, pageNumber=page_number, pointInTime=_instant(point_in_time)
        )
        return self._entities("EntityGetAllRequest", payload)

    def search(
        self,
        model: ModelName,
        condition: Condition,
        *,
        limit: int | None = None,
        order_by: Sequence[OrderBy] = (),
        point_in_time: datetime | None = None,
        tracking_read: bool = False,
    ) -> AsyncGenerator[Entity, None]:
        """Find the entities of a model that satisfy a condition.

        With a limit, at most 10 000, the answer is cut off there. Without one, more than 1000
        matches are an error. `tracking_read` makes the transaction of a callback conflict with
        any concurrent change to the entities found.

        Raises:
            ModelNotFound: there is no such model.
            SearchResultLimit: there are too many matches, and no limit was given.
            InvalidCondition, ConditionTypeMismatch, InvalidFieldPath: the condition is no good.

        """
        payload = _of(model) | {"condition": condition} | _given(limit=limit)
        payload |= _given(orderBy=list(order_by) or None, pointInTime=_instant(point_in_time))
        payload |= _given(trackingRead=tracking_read or None)
        return self._entities("EntitySearchRequest", payload)

    async def list_transitions(
        self,
        entity_id: str,
        *,
        point_in_time: datetime | None = None,
        transaction_id: str | None = None,
    ) -> list[str]:
        """List the transitions of the state that an entity is in, or was in.

        Raises:
            EntityNotFound: there is no such entity, or there was not.

        """
        payload = {"entityId": entity_id} | _as_of(point_in_time, transaction_id)
        return list((await self.call("EntityTransitionsGetRequest", payload))["transitions"])

    async def list_changes(
        self, entity_id: str, *, point_in_time: datetime | None = None
    ) -> AsyncGenerator[Change, None]:
        """Read the history of an entity, the newest 1000 changes, newest first.

        Raises:
            EntityNotFound: there never was such an entity.

        """
        payload = {"entityId": entity_id} | _given(pointInTime=_instant(point_in_time))
        async with aclosing(self.stream("EntityChangesMetadataGetRequest", payload)) as items:
            async for item in items:
                yield Change.read(item)

    async def list_members(self) -> list[ConnectedMember]:
        """List the compute members of the tenant that are connected."""
        answer = await self.call("ComputeMembersGetRequest", {})
        return [ConnectedMember.read(member) for member in answer["members"]]

    async def subscribe_changes(
        self,
        *,
        model: ModelName | None = None,
        states: Sequence[str] = (),
        from_sequence: int | None = None,
        include_data: bool = False,
    ) -> AsyncGenerator[FeedChange, None]:
        """Follow the changes of all entities, or of a model's, in the order of their commits.

        Those after `from_sequence`, where 0 is before the first; without it, those from now on.
        With `states`, only those that leave an entity in one of them. It never ends: after a lost
        connection it resumes after the last change that was yielded, so none is missing and
        none is repeated. To resume after a restart of the program, keep the
        `sequence` of the last change that was dealt with.

        It is a separate call, so it may be read slowly.

        Raises:
            ModelNotFound: there never was such a model.
            BadRequest: `from_sequence` is negative, or the server has not come that far.
            ConnectionLost: there is no connection in the beginning, or the client was closed.

        """
        wanted = (_of(model) if model else {}) | _given(states=list(states) or None)
        wanted |= {"includeData": include_data}
        # Also if it is not needed: it shows whether the server is reachable.
        newest = await self._newest()
        reached = newest if from_sequence is None else from_sequence
        delay = _FIRST_DELAY
        while True:
            payload = wanted | {"fromSequence": reached}
            try:
                answers = self._asker.listen("EntityChangesSubscribeRequest", payload)
                async with aclosing(answers):
                    async for event in answers:
                        change = FeedChange.read(events.answer(event))
                        reached, delay = change.sequence, _FIRST_DELAY
                        yield change
            except errors.ClientClosed:
                raise
            except (errors.ConnectionLost, errors.StorageUnavailable) as lost:
                log.warning("the change feed ended after %d: %s; resuming", reached, lost)
            await asyncio.sleep(random.uniform(delay / 2, delay))
            delay = min(_LONGEST_DELAY, 2 * delay)

    async def subscribe_search(
        self,
        model: ModelName,
        condition: Condition,
        *,
        from_sequence: int | None = None,
        include_data: bool = False,
    ) -> AsyncGenerator[Entity | Complete | Turn, None]:
        """Follow what satisfies a condition.

        First the entities that do, in the order of their ids; then `Complete`; then for every
        later change that makes one enter, changes one within, or makes one leave, a `Turn`, in
        the order of their commits. With `from_sequence`, that of a `Complete` or a `Turn`, only
        the changes after it. It never ends: if the connection is lost after `Complete`, it
        resumes after what was yielded last.

        It is a separate call, so it may be read slowly.

        Raises:
            ModelNotFound: there is no such model.
            InvalidCondition, ConditionTypeMismatch, InvalidFieldPath: the condition is no good.
            BadRequest: `from_sequence` is negative, or the server has not come that far.
            ConnectionLost: before there was a sequence to resume after, or the client was closed.

        """
        wanted = _of(model) | {"condition": condition, "includeData": include_data}
        reached = from_sequence
        delay = _FIRST_DELAY
        begun = False
        while True:
            payload = wanted | _given(fromSequence=reached)
            try:
                answers = self._asker.listen("EntitySearchSubscribeRequest", payload)
                async with aclosing(answers):
                    async for event in answers:
                        answer = events.answer(event)
                        begun, delay = True, _FIRST_DELAY
                        if "payload" in answer:
                            yield Entity.read(answer["payload"])
                            continue
                        reached = int(answer["sequence"])
                        yield Turn.read(answer) if "entityId" in answer else Complete(reached)
            except errors.ClientClosed:
                raise
            except (errors.ConnectionLost, errors.StorageUnavailable) as lost:
                if reached is None or not begun:
                    raise
                log.warning("the live search ended after %d: %s; resuming", reached, lost)
            await asyncio.sleep(random.uniform(delay / 2, delay))
            delay = min(_LONGEST_DELAY, 2 * delay)

    async def _newest(self) -> int:
        # The rejection of a sequence that does not exist yet names the newest one.
        never = {"fromSequence": 2**63 - 1}
        try:
            answers = self._asker.listen("EntityChangesSubscribeRequest", never)
            async with aclosing(answers):
                async for event in answers:
                    events.answer(event)
        except errors.BadRequest as refused:
            return int(refused.properties["newest"])
        raise errors.ServerError("the server does not report its newest sequence")

    async def audit(
        self,
        entity_id: str,
        *,
        event_types: Sequence[Literal["StateMachine", "EntityChange", "System"]] = (),
        severity: Literal["ERROR", "WARN", "INFO", "DEBUG"] | None = None,
        from_time: datetime | None = None,
        to_time: datetime | None = None,
        transaction_id: str | None = None,
    ) -> AsyncGenerator[Audited, None]:
        """Read what happened to an entity and what its state machine decided, newest first.

        All of it, page by page, unless it is limited: to some types of events, where none means
        `StateMachine` and `EntityChange`; to the time from `from_time` on and before `to_time`; to
        the runs that a transaction began. What happens after the first page was read is left out.

        Raises:
            EntityNotFound: there never was such an entity.

        """
        payload = {"entityId": entity_id, "limit": AUDIT_PAGE}
        payload |= _given(eventTypes=list(event_types) or None, severity=severity)
        payload |= _given(fromUtcTime=_instant(from_time), toUtcTime=_instant(to_time))
        payload |= _given(transactionId=transaction_id)
        while True:
            page = await self.call("EntityAuditGetRequest", payload)
            items = [audited(item) for item in page["items"]]
            for item in items:
                yield item
            if not page["pagination"]["hasNext"]:
                return
            # The cursor counts from the newest item, so there must be no newer ones.
            after_the_newest = _instant(items[0].at + timedelta(microseconds=1))
            payload = {"toUtcTime": after_the_newest} | payload
            payload["cursor"] = page["pagination"]["nextCursor"]

    async def audit_finished(self, entity_id: str, transaction_id: str) -> AuditedStep:
        """Read how the run ended that a transaction began: its `STATE_MACHINE_FINISH`.

        Raises:
            EntityNotFound: there never was such an entity, or the transaction began no run of it
                that has ended well.

        """
        payload = {"entityId": entity_id, "transactionId": transaction_id}
        return AuditedStep.read((await self.call("EntityAuditFinishedGetRequest", payload))["item"])

    async def explain(
        self, entity_id: str, *, transaction_id: str | None = None, transition: str | None = None
    ) -> Explanation:
        """Explain why a transaction did what it did with an entity, criterion by criterion.

        Without a transaction: which transitions are open now, and what would happen if the entity
        were saved; with a transition, of that one only, and if it were requested. Nothing is
        changed, and no compute member is called; the explanation stops where one would be.

        Raises:
            EntityNotFound: there is no such entity, or the transaction did nothing with it.

        """
        payload = {"entityId": entity_id}
        payload |= _given(transactionId=transaction_id, transition=transition)
        return Explanation.read(await self.call("WorkflowExplainRequest", payload))

    async def explain_supposed(
        self,
        model: ModelName,
        data: Any,
        *,
        state: str | None = None,
        transition: str | None = None,
    ) -> Explanation:
        """Explain what would happen to an entity that does not exist.

        If it were created with this document; or if it were in a state, and were saved, or a
        transition were requested.

        Raises:
            ModelNotFound: there is no such model.

        """
        payload = _of(model) | {"data": data} | _given(state=state, transition=transition)
        return Explanation.read(await self.call("WorkflowExplainRequest", payload))

    async def count(self, model: ModelName | None = None) -> list[Count]:
        """Count the entities of a model, or of each of the tenant's models.

        Raises:
            ModelNotFound: there is no such model.

        """
        payload = _of(model) if model else {}
        return [Count.read(item) async for item in self.stream("EntityStatsGetRequest", payload)]

    async def count_by_state(
        self, model: ModelName | None = None, *, states: Sequence[str] = ()
    ) -> list[Count]:
        """Count entities by model and state; of no states means of all.

        Raises:
            ModelNotFound: there is no such model.

        """
        payload = (_of(model) if model else {}) | _given(states=list(states) or None)
        answer = self.stream("EntityStatsByStateGetRequest", payload)
        return [Count.read(item) async for item in answer]

    async def group(
        self,
        model: ModelName,
        by: Sequence[str],
        *,
        aggregations: Sequence[Aggregation] = (),
        condition: Condition | None = None,
        point_in_time: datetime | None = None,
        limit: int | None = None,
    ) -> list[Group]:
        """Count entities by what they hold, and add up their numbers; the largest groups first.

        `by` names `state`, or fields like `$.region`.

        Raises:
            ModelNotFound: there is no such model.
            InvalidQuery: the query makes no sense, or leads to too many groups.
            InvalidCondition: the condition is none.

        """
        payload = _of(model) | {"groupBy": list(by)}
        payload |= _given(
            aggregations=list(aggregations) or None,
            condition=condition,
            pointInTime=_instant(point_in_time),
            limit=limit,
        )
        answer = await self.call("EntityStatsQueryRequest", payload)
        return [Group.read(bucket) for bucket in answer["buckets"]]

    # Searches that run on their own.

    async def explain_search(
        self,
        model: ModelName,
        condition: Condition,
        *,
        limit: int | None = None,
        order_by: Sequence[OrderBy] = (),
        point_in_time: datetime | None = None,
    ) -> SearchExplanation:
        """Run a search and report how it was served, instead of its result.

        Raises:
            InterlockError: as `search`.

        """
        payload = _of(model) | {"condition": condition} | _given(limit=limit)
        payload |= _given(orderBy=list(order_by) or None, pointInTime=_instant(point_in_time))
        answer = await self.call("EntitySearchExplainRequest", payload)
        return SearchExplanation.read(answer)

    async def submit_search(
        self,
        model: ModelName,
        condition: Condition,
        *,
        order_by: Sequence[OrderBy] = (),
        point_in_time: datetime | None = None,
    ) -> Snapshot:
        """Start a background search; `search_status` reports when its result is available.

        Raises:
            InterlockError: as `search`.

        """
        payload = _of(model) | {"condition": condition}
        payload |= _given(orderBy=list(order_by) or None, pointInTime=_instant(point_in_time))
        return Snapshot.read(await self.call("EntitySnapshotSearchRequest", payload))

    async def search_status(self, snapshot_id: str) -> Snapshot:
        """Say how far a search is.

        Raises:
            SearchJobNotFound: there is none, or its result was thrown away.

        """
        payload = {"snapshotId": snapshot_id}
        return Snapshot.read(await self.call("SnapshotGetStatusRequest", payload))

    def search_results(
        self, snapshot_id: str, *, page_size: int | None = None, page_number: int | None = None
    ) -> AsyncGenerator[Entity, None]:
        """Read a page of the result of a search, of 10 entities unless `page_size` is given.

        The entities are as they were when the search was started, or at its `point_in_time`.

        Raises:
            SearchJobNotFound: there is none, or its result was thrown away.

        """
        payload = {"snapshotId": snapshot_id}
        payload |= _given(pageSize=page_size, pageNumber=page_number)
        return self._entities("SnapshotGetRequest", payload)

    async def cancel_search(self, snapshot_id: str) -> Snapshot:
        """End a search that is running.

        Raises:
            SearchJobNotFound: there is none.
            SearchJobAlreadyTerminal: it is running no more.

        """
        payload = {"snapshotId": snapshot_id}
        return Snapshot.read(await self.call("SnapshotCancelRequest", payload))

    # Messages.

    async def create_message(
        self,
        subject: str,
        content: Any,
        *,
        metadata: Mapping[str, Any] | None = None,
        content_type: str | None = None,
        message_id: str | None = None,
        user_id: str | None = None,
        recipient: str | None = None,
        reply_to: str | None = None,
        correlation_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> str:
        """Store a message; return the id by which it can be read.

        The content is anything that JSON can say; what else is known of the message is kept
        beside it.
        """
        header = {"subject": subject} | _given(
            contentType=content_type,
            messageId=message_id,
            userId=user_id,
            recipient=recipient,
            replyTo=reply_to,
            correlationId=correlation_id,
        )
        payload = {"header": header, "payload": content} | _given(metaData=metadata)
        answer = await self.call("MessageCreateRequest", payload, idempotency_key=idempotency_key)
        return str(answer["entityIds"][0])

    async def get_message(self, message_id: str) -> Message:
        """Read a message.

        Raises:
            EntityNotFound: there is none.

        """
        return Message.read(await self.call("MessageGetRequest", {"messageId": message_id}))

    async def delete_message(self, message_id: str, *, idempotency_key: str | None = None) -> None:
        """Delete a message.

        Raises:
            EntityNotFound: there is none.

        """
        await self.call(
            "MessageDeleteRequest", {"messageId": message_id}, idempotency_key=idempotency_key
        )

    async def delete_messages(
        self, message_ids: Iterable[str], *, idempotency_key: str | None = None
    ) -> None:
        """Delete messages; those that are not there are no error."""
        await self.call(
            "MessageDeleteRequest",
            {"messageIds": list(message_ids)},
            idempotency_key=idempotency_key,
        )

    # The caller.

    async def account(self) -> Account:
        """Return the authenticated caller."""
        return Account.read(await self.call("AccountGetRequest", {}))

    # Who may call, where callers bear tokens; all of it needs the role ROLE_ADMIN.

    async def list_clients(self) -> list[TokenClient]:
        """List the clients of the tenant that may get tokens."""
        answer = await self.call("ClientsGetRequest", {})
        return [TokenClient.read(item) for item in answer["clients"]]

    async def create_client(self, *, with_admin_role: bool = False) -> Credentials:
        """Create a client that may obtain tokens.

        Raises:
            FeatureDisabled: it shall administer, and the settings of the server forbid that.

        """
        payload = {"withAdminRole": with_admin_role}
        return Credentials.read(await self.call("ClientCreateRequest", payload))

    async def reset_client_secret(self, client_id: str) -> Credentials:
        """Replace the secret of a client; this revokes the old one and its tokens.

        Raises:
            TokenClientNotFound: there is none.

        """
        payload = {"clientId": client_id}
        return Credentials.read(await self.call("ClientSecretResetRequest", payload))

    async def delete_client(self, client_id: str) -> None:
        """Delete a client; its tokens are worthless then.

        Raises:
            TokenClientNotFound: there is none.

        """
        await self.call("ClientDeleteRequest", {"clientId": client_id})

    async def issue_key_pair(
        self,
        audience: KeyAudience,
        *,
        valid_from: datetime | None = None,
        valid_to: datetime | None = None,
        invalidate_current: timedelta | None = None,
    ) -> KeyPair:
        """Issue a key pair that signs the tenant's tokens.

        With `invalidate_current` the one that signs now signs no more; for that time what it has
        signed is still good.
        """
        payload = {"algorithm": "RS256", "audience": audience} | _given(
            validFrom=valid_from.isoformat() if valid_from else None,
            validTo=valid_to.isoformat() if valid_to else None,
        )
        if invalidate_current is not None:
            payload["invalidateCurrent"] = True
            payload["invalidateGracePeriodSec"] = int(invalidate_current.total_seconds())
        return KeyPair.read(await self.call("KeyPairIssueRequest", payload))

    async def current_key_pair(self, audience: KeyAudience) -> KeyPair:
        """Tell which key pair signs the tenant's tokens.

        Raises:
            KeyPairNotFound: none does.

        """
        return KeyPair.read(await self.call("KeyPairGetRequest", {"audience": audience}))

    async def invalidate_key_pair(self, key_id: str, *, grace: timedelta = timedelta(0)) -> None:
        """Have a key pair sign no more; for the time of grace what it has signed is still good.

        Raises:
            KeyPairNotFound: there is no such pair.

        """
        payload = {"keyId": key_id, "gracePeriodSec": int(grace.total_seconds())}
        await self.call("KeyPairInvalidateRequest", payload)

    async def reactivate_key_pair(
        self, key_id: str, valid_to: datetime, *, valid_from: datetime | None = None
    ) -> KeyPair:
        """Have a key pair sign again, and make good what it has signed.

        Raises:
            KeyPairNotFound: there is no such pair.

        """
        payload = {"keyId": key_id, "validTo": valid_to.isoformat()} | _given(
            validFrom=valid_from.isoformat() if valid_from else None
        )
        return KeyPair.read(await self.call("KeyPairReactivateRequest", payload))

    async def delete_key_pair(self, key_id: str) -> None:
        """Delete a key pair; what it has signed is worthless then.

        Raises:
            KeyPairNotFound: there is no such pair.

        """
        await self.call("KeyPairDeleteRequest", {"keyId": key_id})

    async def list_trusted_keys(self) -> list[TrustedKey]:
        """List the keys that the tenant trusts, also those that are over.

        Raises:
            FeatureDisabled: the settings of the server do not know them.

        """
        answer = await self.call("TrustedKeysGetRequest", {})
        return [TrustedKey.read(item) for item in answer["trustedKeys"]]

    async def register_trusted_key(
        self,
        key_id: str,
        jwk: Mapping[str, Any],
        audience: KeyAudience,
        *,
        issuers: Iterable[str] = (),
        valid_from: datetime | None = None,
        valid_to: datetime | None = None,
        invalidate_previous: timedelta | None = None,
    ) -> TrustedKey:
        """Trust a key: clients may exchange tokens that it has signed.

        With `invalidate_previous` the others of that audience are trusted for that time only.

        Raises:
            TrustedKeyTaken: another tenant trusts a key of this name.
            TooManyTrustedKeys: the tenant trusts as many as it may.

        """
        payload = {"keyId": key_id, "jwk": dict(jwk), "audience": audience} | _given(
            issuers=list(issuers) or None,
            validFrom=valid_from.isoformat() if valid_from else None,
            validTo=valid_to.isoformat() if valid_to else None,
        )
        if invalidate_previous is not None:
            payload["invalidatePrevious"] = True
            payload["invalidateGracePeriodSec"] = int(invalidate_previous.total_seconds())
        return TrustedKey.read(await self.call("TrustedKeyRegisterRequest", payload))

    async def invalidate_trusted_key(self, key_id: str, *, grace: timedelta = timedelta(0)) -> None:
        """Trust a key no more; for the time of grace what it has signed is still exchanged.

        Raises:
            TrustedKeyNotFound: there is no such key.

        """
        payload = {"keyId": key_id, "gracePeriodSec": int(grace.total_seconds())}
        await self.call("TrustedKeyInvalidateRequest", payload)

    async def reactivate_trusted_key(
        self, key_id: str, valid_to: datetime, *, valid_from: datetime | None = None
    ) -> TrustedKey:
        """Trust a key again.

        Raises:
            TrustedKeyNotFound: there is no such key.

        """
        payload = {"keyId": key_id, "validTo": valid_to.isoformat()} | _given(
            validFrom=valid_from.isoformat() if valid_from else None
        )
        return TrustedKey.read(await self.call("TrustedKeyReactivateRequest", payload))

    async def delete_trusted_key(self, key_id: str) -> None:
        """Delete a key that the tenant trusts.

        Raises:
            TrustedKeyNotFound: there is no such key.

        """
        await self.call("TrustedKeyDeleteRequest", {"keyId": key_id})

    async def list_oidc_providers(self, *, active_only: bool = False) -> list[OidcProvider]:
        """List the OpenID Connect providers that the tenant has registered.

        Args:
            active_only: leave out those that were invalidated.

        """
        asked = {"activeOnly": True} if active_only else {}
        answer = await self.call("OidcProvidersGetRequest", asked)
        return [OidcProvider.read(item) for item in answer["providers"]]

    async def register_oidc_provider(
        self,
        well_known_config_uri: str,
        *,
        issuers: Iterable[str] = (),
        expected_audiences: Iterable[str] = (),
        roles_claim: str | None = None,
    ) -> OidcProvider:
        """Take the tokens of an OpenID Connect provider.

        Raises:
            OidcProviderDuplicate: the tenant has it already.
            OidcProviderBlocked: it is not on the public internet.
            OidcInvalidTenant: the id of the tenant is no UUID.

        """
        payload = {"wellKnownConfigUri": well_known_config_uri} | _given(
            issuers=list(issuers) or None,
            expectedAudiences=list(expected_audiences) or None,
            rolesClaim=roles_claim,
        )
        answer = await self.call("OidcProviderRegisterRequest", payload)
        return OidcProvider.read(answer["provider"])

    async def update_oidc_provider(
        self, provider_id: str, changes: Mapping[str, Any]
    ) -> OidcProvider:
        """Change a provider: `issuers`, `expectedAudiences`, `rolesClaim`.

        What is absent stays; `None` and an empty list take away what there is.

        Raises:
            OidcProviderNotFound: there is no such provider.
            OidcProviderInactive: it is invalidated.

        """
        payload = {"providerId": provider_id} | dict(changes)
        answer = await self.call("OidcProviderUpdateRequest", payload)
        return OidcProvider.read(answer["provider"])

    async def invalidate_oidc_provider(self, provider_id: str) -> OidcProvider:
        """Take the tokens of a provider no more.

        Raises:
            OidcProviderNotFound: there is no such provider.

        """
        answer = await self.call("OidcProviderInvalidateRequest", {"providerId": provider_id})
        return OidcProvider.read(answer["provider"])

    async def reactivate_oidc_provider(
        self, provider_id: str, *, reactivate_keys: bool = True
    ) -> OidcProvider:
        """Take the tokens of a provider again; without `reactivate_keys`, only those of new keys.

        Raises:
            OidcProviderNotFound: there is no such provider.

        """
        payload = {"providerId": provider_id, "reactivateKeys": reactivate_keys}
        answer = await self.call("OidcProviderReactivateRequest", payload)
        return OidcProvider.read(answer["provider"])

    async def delete_oidc_provider(self, provider_id: str) -> None:
        """Delete a provider.

        Raises:
            OidcProviderNotFound: there is no such provider.

        """
        await self.call("OidcProviderDeleteRequest", {"providerId": provider_id})

    async def reload_oidc_providers(self) -> dict[str, int | str]:
        """Fetch the keys of all providers: for each the number of keys, or the error."""
        answer = await self.call("OidcProvidersReloadRequest", {})
        return {item["id"]: item.get("keys", item.get("error")) for item in answer["providers"]}

    # What an operator may change; all of it needs the role ROLE_ADMIN.

    async def incidents(
        self, kind: Literal["run", "timer", "producer"] | None = None
    ) -> AsyncGenerator[Incident, None]:
        """List work that has stopped after it failed too often."""
        cursor: str | None = None
        while True:
            payload = _given(kind=kind, cursor=cursor)
            answer = await self.call("IncidentsGetRequest", payload)
            for item in answer["items"]:
                yield Incident.read(item)
            cursor = answer["pagination"].get("nextCursor")
            if cursor is None:
                return

    async def retry_incident(self, incident_id: str) -> None:
        """Have the work of an incident done again, and its failures counted from the beginning.

        Raises:
            IncidentNotFound: there is none.

        """
        await self.call("IncidentRetryRequest", {"incidentId": incident_id})

    async def cancel_incident(self, incident_id: str) -> None:
        """Cancel a run, drop a timer, or stop a schedule or trigger that has stopped.

        Raises:
            IncidentNotFound: there is none.

        """
        await self.call("IncidentCancelRequest", {"incidentId": incident_id})

    async def log_level(self) -> str:
        """Return the log level: `debug`, `info`, `warn` or `error`."""
        return str((await self.call("LogLevelGetRequest", {}))["level"])

    async def set_log_level(self, level: Literal["debug", "info", "warn", "error"]) -> str:
        """Change what the server logs until it ends; give what it was before."""
        return str((await self.call("LogLevelSetRequest", {"level": level}))["previous"])

    async def trace_sampler(self) -> Sampler:
        """Tell which requests the server would trace."""
        return Sampler.read(await self.call("TraceSamplerGetRequest", {}))

    async def set_trace_sampler(self, sampler: Sampler) -> None:
        """Change which requests the server would trace, until it ends.

        Traces are not exported yet, so this has no effect.
        """
        payload = {"sampler": sampler.name, "parentBased": sampler.parent_based}
        await self.call("TraceSamplerSetRequest", payload | _given(ratio=sampler.ratio))

    async def _entities(
        self, event_type: str, payload: Mapping[str, Any]
    ) -> AsyncGenerator[Entity, None]:
        async with aclosing(self.stream(event_type, payload)) as items:
            async for item in items:
                yield Entity.read(item["payload"])


def _of(model: ModelName) -> dict[str, Any]:
    name, version = model
    return {"model": {"name": name, "version": version}}


def _change(update: Update) -> dict[str, Any]:
    change = {"entityId": update.entity_id, "data": update.data}
    return change | _given(transition=update.transition, ifMatch=update.if_match)


def _as_of(point_in_time: datetime | None, transaction_id: str | None) -> dict[str, Any]:
    return _given(pointInTime=_instant(point_in_time), transactionId=transaction_id)


def _given(**members: Any) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}


def _instant(time: datetime | None) -> str | None:
    if time is None:
        return None
    if time.tzinfo is None:
        raise ValueError(f"{time} has no time zone; add one")
    # All six digits: to the server, an instant without the last three is a whole millisecond.
    return time.isoformat(timespec="microseconds")
