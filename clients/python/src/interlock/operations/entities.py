"""Entities: writes, and reads by id."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from interlock.api.requester import given
from interlock.operations.requests import Requests, entities_of
from interlock.operations.values import Condition, ModelName, criterion, instant, spec
from interlock.records import (
    AllDeleted,
    Deleted,
    Entity,
    NewEntity,
    Transitioned,
    Update,
    Written,
)

if TYPE_CHECKING:
    from interlock.api.payloads import (
        Change,
        EntityCreateCollectionRequest,
        EntityDeleteAllRequest,
        EntityDeleteRequest,
        EntityGetAllRequest,
        EntityGetRequest,
        EntitySearchRequest,
        EntityTransitionRequest,
        EntityTransitionsGetRequest,
        EntityUpdateCollectionRequest,
        PatchPayload,
    )


PAGE_SIZE = 1_000
"""How many entities are asked for at once where all are listed."""


class Entities(Requests):
    """Entities.

    All writes may raise `Conflict`, `WorkflowFailed` and `ComputeUnavailable`; in each case nothing
    was written.
    """

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
        answer = await self.api.entity_create(
            {"dataFormat": "JSON", "payload": {"model": spec(model), "data": data}},
            idempotency_key=idempotency_key,
        )
        return Written.read(answer)

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
        request: EntityCreateCollectionRequest = {
            "dataFormat": "JSON",
            "payloads": [{"model": spec(model), "data": data} for model, data in entities],
            "chunkSize": chunk_size,
        }
        answer = await self.api.entity_create_collection(
            given(request),
            idempotency_key=idempotency_key,
        )
        return Written.read(answer)

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
        answer = await self.api.entity_update(
            {
                "dataFormat": "JSON",
                "payload": _change(Update(entity_id, data, transition, if_match)),
            },
            idempotency_key=idempotency_key,
        )
        return Written.read(answer)

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
        request: EntityUpdateCollectionRequest = {
            "dataFormat": "JSON",
            "payloads": [_change(update) for update in updates],
            "chunkSize": chunk_size,
        }
        answer = await self.api.entity_update_collection(
            given(request),
            idempotency_key=idempotency_key,
        )
        return Written.read(answer)

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
            InvalidRequest: the patch cannot be applied, or breaks the model.
            InterlockError: as `update`.

        """
        change: PatchPayload = {"entityId": entity_id, "patch": patch, "ifMatch": if_match}
        if transition is not None:
            change["transition"] = transition
        answer = await self.api.entity_patch(
            {"patchFormat": patch_format, "payload": change}, idempotency_key=idempotency_key
        )
        return Written.read(answer)

    async def transition(
        self,
        entity_id: str,
        transition: str,
        *,
        if_match: str | None = None,
        idempotency_key: str | None = None,
    ) -> Transitioned:
        """Take a transition, leaving the document as it is.

        With `if_match` it is taken only if that transaction wrote the last version of the entity.

        Raises:
            EntityNotFound: there is no such entity.
            EntityModified: it has another version than `if_match`.
            TransitionNotFound: its state has no such transition.
            WorkflowFailed: the transition's criterion does not hold, or the run failed.
            InterlockError: otherwise as `update`.

        """
        request: EntityTransitionRequest = {
            "entityId": entity_id,
            "transition": transition,
            "ifMatch": if_match,
        }
        answer = await self.api.entity_transition(given(request), idempotency_key=idempotency_key)
        return Transitioned.read(answer)

    async def delete(
        self,
        entity_id: str,
        *,
        if_match: str | None = None,
        idempotency_key: str | None = None,
    ) -> Deleted:
        """Delete an entity; its history stays.

        With `if_match` it is deleted only if that transaction wrote its last version.

        Raises:
            EntityNotFound: there is no such entity.
            EntityModified: it has another version than `if_match`.

        """
        request: EntityDeleteRequest = {"entityId": entity_id, "ifMatch": if_match}
        answer = await self.api.entity_delete(given(request), idempotency_key=idempotency_key)
        return Deleted.read(answer)

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
        request: EntityDeleteAllRequest = {
            "model": spec(model),
            "verbose": list_ids,
            "pointInTime": instant(point_in_time),
            "condition": None if condition is None else criterion(condition),
        }
        answer = await self.api.entity_delete_all(
            given(request),
            idempotency_key=idempotency_key,
        )
        return AllDeleted.read(answer)

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
        request: EntityGetRequest = {
            "entityId": entity_id,
            "pointInTime": instant(point_in_time),
            "transactionId": transaction_id,
        }
        answer = await self.api.entity_get(given(request))
        return Entity.read(answer["payload"])

    def list_entities(
        self,
        model: ModelName,
        *,
        page_size: int | None = None,
        page_number: int | None = None,
        point_in_time: datetime | None = None,
    ) -> AsyncGenerator[Entity, None]:
        """Read the entities of a model, in the order of their ids.

        All of them, page by page: an entity that is there all the time is yielded once, whatever is
        written or deleted meanwhile. With a `page_size` or a `page_number` it is that page only: of
        20 entities unless `page_size` says otherwise, 10 000 at most; the first one has the number
        0.

        Raises:
            ModelNotFound: there is no such model.

        """
        if page_size is None and page_number is None:
            return self._all(model, point_in_time)
        request: EntityGetAllRequest = {
            "model": spec(model),
            "pageSize": page_size,
            "pageNumber": page_number,
            "pointInTime": instant(point_in_time),
        }
        answers = self.api.entity_get_all(given(request))
        return entities_of(answers)

    async def _all(self, model: ModelName, time: datetime | None) -> AsyncGenerator[Entity, None]:
        # Pages that are found by their number move when an entity of an earlier one is deleted.
        last, came = "", PAGE_SIZE
        while came == PAGE_SIZE:
            came = 0
            request: EntitySearchRequest = {
                "model": spec(model),
                "condition": {
                    "type": "lifecycle",
                    "field": "id",
                    "operatorType": "GREATER_THAN",
                    "value": last,
                },
                "limit": PAGE_SIZE,
                "limitExceeded": "TRUNCATE",
                "pointInTime": instant(time),
                # In a transaction, it has seen what it lists.
                "trackingRead": True,
            }
            async with aclosing(entities_of(self.api.entity_search(given(request)))) as page:
                async for entity in page:
                    last, came = entity.id, came + 1
                    # The answers of a search do not name the time.
                    yield replace(entity, point_in_time=time)

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
        request: EntityTransitionsGetRequest = {
            "entityId": entity_id,
            "pointInTime": instant(point_in_time),
            "transactionId": transaction_id,
        }
        answer = await self.api.entity_transitions_get(given(request))
        return list(answer["transitions"])


def _change(update: Update) -> Change:
    change: Change = {"entityId": update.entity_id, "data": update.data}
    if update.transition is not None:
        change["transition"] = update.transition
    if update.if_match is not None:
        change["ifMatch"] = update.if_match
    return change
