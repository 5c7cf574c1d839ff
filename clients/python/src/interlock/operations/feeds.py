"""What changes: feeds that resume by themselves."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, cast

from interlock import errors
from interlock.api.requester import given
from interlock.operations.requests import Requests
from interlock.operations.values import Condition, ModelName, criterion, spec
from interlock.records import Complete, Entity, FeedChange, Turn

if TYPE_CHECKING:
    from interlock.api.payloads import (
        EntityChangesSubscribeRequest,
        EntityResponse,
        EntitySearchSubscribeRequest,
    )

log = logging.getLogger("interlock")

# The delay between two attempts to resume a feed, in seconds: doubling, with jitter.
FIRST_DELAY = 0.1
LONGEST_DELAY = 5.0


class Feeds(Requests):
    """What changes."""

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
        # Also if it is not needed: it shows whether the server is reachable.
        newest = await self._newest()
        reached = newest if from_sequence is None else from_sequence
        delay = FIRST_DELAY
        while True:
            request: EntityChangesSubscribeRequest = {
                "model": spec(model) if model else None,
                "states": list(states) or None,
                "includeData": include_data,
                "fromSequence": reached,
            }
            request = given(request)
            try:
                async with aclosing(self.api.entity_changes_subscribe(request)) as answers:
                    async for answer in answers:
                        change = FeedChange.read(answer)
                        reached, delay = change.sequence, FIRST_DELAY
                        yield change
            except errors.ClientClosed:
                raise
            except (errors.ConnectionLost, errors.StorageUnavailable) as lost:
                log.warning("the change feed ended after %d: %s; resuming", reached, lost)
            await asyncio.sleep(random.uniform(delay / 2, delay))
            delay = min(LONGEST_DELAY, 2 * delay)

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
        reached = from_sequence
        delay = FIRST_DELAY
        begun = False
        while True:
            request: EntitySearchSubscribeRequest = {
                "model": spec(model),
                "condition": criterion(condition),
                "includeData": include_data,
                "fromSequence": reached,
            }
            request = given(request)
            try:
                async with aclosing(self.api.entity_search_subscribe(request)) as answers:
                    async for answer in answers:
                        begun, delay = True, FIRST_DELAY
                        if "payload" in answer:
                            yield Entity.read(cast("EntityResponse", answer)["payload"])
                            continue
                        reached = answer["sequence"]
                        yield Turn.read(answer) if "entityId" in answer else Complete(reached)
            except errors.ClientClosed:
                raise
            except (errors.ConnectionLost, errors.StorageUnavailable) as lost:
                if reached is None or not begun:
                    raise
                log.warning("the live search ended after %d: %s; resuming", reached, lost)
            await asyncio.sleep(random.uniform(delay / 2, delay))
            delay = min(LONGEST_DELAY, 2 * delay)

    async def _newest(self) -> int:
        # The rejection of a sequence that does not exist yet names the newest one.
        never: EntityChangesSubscribeRequest = {"fromSequence": 2**63 - 1}
        try:
            async with aclosing(self.api.entity_changes_subscribe(never)) as answers:
                async for _answer in answers:
                    pass
        except errors.BadRequest as refused:
            return int(refused.properties["newest"])
        raise errors.ServerError("the server does not report its newest sequence")
