"""What happened to entities, and why."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal, cast

from interlock.api.requester import given
from interlock.explanation import Explanation
from interlock.operations.requests import Requests
from interlock.operations.values import ModelName, instant, spec
from interlock.records import Audited, AuditedStep, Change, audited

if TYPE_CHECKING:
    from interlock.api.payloads import (
        AuditEventStateMachine,
        EntityAuditGetRequest,
        EntityChangesMetadataGetRequest,
        WorkflowExplainRequest,
    )

AUDIT_PAGE = 1000
"""How many items of an audit trail are requested at a time: the server's maximum."""


class History(Requests):
    """What happened to entities, and why."""

    async def list_changes(
        self, entity_id: str, *, point_in_time: datetime | None = None
    ) -> AsyncGenerator[Change, None]:
        """Read the history of an entity, the newest 1000 changes, newest first.

        Raises:
            EntityNotFound: there never was such an entity.

        """
        request: EntityChangesMetadataGetRequest = {
            "entityId": entity_id,
            "pointInTime": instant(point_in_time),
        }
        request = given(request)
        async with aclosing(self.api.entity_changes_metadata_get(request)) as items:
            async for item in items:
                yield Change.read(item)

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
        request: EntityAuditGetRequest = {
            "entityId": entity_id,
            "limit": AUDIT_PAGE,
            "eventTypes": list(event_types) or None,
            "severity": severity,
            "fromUtcTime": instant(from_time),
            "toUtcTime": instant(to_time),
            "transactionId": transaction_id,
        }
        request = given(request)
        while True:
            page = await self.api.entity_audit_get(request)
            items = [audited(item) for item in page["items"]]
            for item in items:
                yield item
            if not page["pagination"]["hasNext"]:
                return
            # The cursor counts from the newest item, so there must be no newer ones.
            if "toUtcTime" not in request:
                request["toUtcTime"] = instant(items[0].at + timedelta(microseconds=1))
            request["cursor"] = page["pagination"]["nextCursor"]

    async def audit_finished(self, entity_id: str, transaction_id: str) -> AuditedStep:
        """Read how the run ended that a transaction began: its `STATE_MACHINE_FINISH`.

        Raises:
            EntityNotFound: there never was such an entity, or the transaction began no run of it
                that has ended well.

        """
        answer = await self.api.entity_audit_finished_get(
            {"entityId": entity_id, "transactionId": transaction_id}
        )
        return AuditedStep.read(cast("AuditEventStateMachine", answer["item"]))

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
        request: WorkflowExplainRequest = {
            "entityId": entity_id,
            "transactionId": transaction_id,
            "transition": transition,
        }
        answer = await self.api.workflow_explain(given(request))
        return Explanation.read(answer)

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
        request: WorkflowExplainRequest = {"model": spec(model), "data": data}
        if state is not None:
            request["state"] = state
        if transition is not None:
            request["transition"] = transition
        return Explanation.read(await self.api.workflow_explain(request))
