"""Searches, counts and groups."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from datetime import datetime
from typing import TYPE_CHECKING, cast

from interlock import errors
from interlock.api.requester import given
from interlock.operations.requests import Requests, entities_of
from interlock.operations.values import (
    Aggregation,
    Condition,
    ModelName,
    OrderBy,
    criterion,
    instant,
    order,
    spec,
)
from interlock.records import Count, Entity, Group, SearchExplanation, Snapshot

if TYPE_CHECKING:
    from interlock.api import payloads
    from interlock.api.payloads import (
        EntitySearchExplainRequest,
        EntitySearchRequest,
        EntitySnapshotSearchRequest,
        EntityStatsByStateGetRequest,
        EntityStatsGetRequest,
        EntityStatsQueryRequest,
        SnapshotGetRequest,
    )

SEARCH_ATTEMPTS = 3
"""How often a search is sent without an entity in return."""

log = logging.getLogger("interlock")


class Searching(Requests):
    """Searches, counts and groups."""

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

        Outside of a transaction it is a separate call, so it may be read slowly, and the loop over
        it may send requests.

        If the connection is lost, the search is sent again, and each entity is yielded once: with
        `point_in_time` at any moment, and without as long as nothing has been yielded.

        Raises:
            ModelNotFound: there is no such model.
            SearchResultLimit: there are too many matches, and no limit was given.
            InvalidCondition, ConditionTypeMismatch, InvalidFieldPath: the condition is no good.

        """
        request: EntitySearchRequest = {
            "model": spec(model),
            "condition": criterion(condition),
            "limit": limit,
            "orderBy": order(order_by),
            "pointInTime": instant(point_in_time),
            "trackingRead": tracking_read or None,
        }
        return self._found(given(request))

    async def _found(self, request: EntitySearchRequest) -> AsyncGenerator[Entity, None]:
        seen: set[str] = set()
        attempts = 0
        while True:
            try:
                async with aclosing(entities_of(self.api.entity_search(request))) as found:
                    async for entity in found:
                        if entity.id not in seen:
                            seen.add(entity.id)
                            attempts = 0
                            yield entity
                return
            except errors.ClientClosed:
                raise
            except errors.ConnectionLost as lost:
                attempts += 1
                # Without a time, what is found again may be another result.
                is_another = bool(seen) and "pointInTime" not in request
                if is_another or lost.retryable or attempts == SEARCH_ATTEMPTS:
                    raise
                log.warning("a search ended after %d entities: %s; resuming", len(seen), lost)

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
        request: EntitySearchExplainRequest = {
            "model": spec(model),
            "condition": criterion(condition),
            "limit": limit,
            "orderBy": order(order_by),
            "pointInTime": instant(point_in_time),
        }
        answer = await self.api.entity_search_explain(given(request))
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
        request: EntitySnapshotSearchRequest = {
            "model": spec(model),
            "condition": criterion(condition),
            "orderBy": order(order_by),
            "pointInTime": instant(point_in_time),
        }
        answer = await self.api.entity_snapshot_search(given(request))
        return Snapshot.read(answer)

    async def search_status(self, snapshot_id: str) -> Snapshot:
        """Say how far a search is.

        Raises:
            SearchJobNotFound: there is none, or its result was thrown away.

        """
        return Snapshot.read(await self.api.snapshot_get_status({"snapshotId": snapshot_id}))

    def search_results(
        self, snapshot_id: str, *, page_size: int | None = None, page_number: int | None = None
    ) -> AsyncGenerator[Entity, None]:
        """Read a page of the result of a search, of 10 entities unless `page_size` is given.

        The entities are as they were when the search was started, or at its `point_in_time`.

        Raises:
            SearchJobNotFound: there is none, or its result was thrown away.

        """
        request: SnapshotGetRequest = {
            "snapshotId": snapshot_id,
            "pageSize": page_size,
            "pageNumber": page_number,
        }
        answers = self.api.snapshot_get(given(request))
        return entities_of(answers)

    async def cancel_search(self, snapshot_id: str) -> Snapshot:
        """End a search that is running.

        Raises:
            SearchJobNotFound: there is none.
            SearchJobAlreadyTerminal: it is running no more.

        """
        return Snapshot.read(await self.api.snapshot_cancel({"snapshotId": snapshot_id}))

    async def count(self, model: ModelName | None = None) -> list[Count]:
        """Count the entities of a model, or of each of the tenant's models.

        Raises:
            ModelNotFound: there is no such model.

        """
        request: EntityStatsGetRequest = {"model": spec(model) if model else None}
        request = given(request)
        return [Count.read(item) async for item in self.api.entity_stats_get(request)]

    async def count_by_state(
        self, model: ModelName | None = None, *, states: Sequence[str] = ()
    ) -> list[Count]:
        """Count entities by model and state; of no states means of all.

        Raises:
            ModelNotFound: there is no such model.

        """
        request: EntityStatsByStateGetRequest = {
            "model": spec(model) if model else None,
            "states": list(states) or None,
        }
        answers = self.api.entity_stats_by_state_get(given(request))
        return [Count.read(item) async for item in answers]

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
        request: EntityStatsQueryRequest = {
            "model": spec(model),
            "groupBy": list(by),
            "aggregations": cast("Sequence[payloads.Aggregation]", aggregations) or None,
            "condition": None if condition is None else criterion(condition),
            "pointInTime": instant(point_in_time),
            "limit": limit,
        }
        answer = await self.api.entity_stats_query(given(request))
        return [Group.read(bucket) for bucket in answer["buckets"]]
