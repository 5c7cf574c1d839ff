"""Ordered lists of events."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from interlock.api.requester import given
from interlock.run_records import NewEvent, TopicEvent
from interlock.runs.part import PAGE, Part

if TYPE_CHECKING:
    from interlock.api.payloads import (
        NewTopicEvent,
        TopicGetRequest,
        TopicPublishRequest,
        TopicsGetRequest,
    )

PUBLISHED_AT_ONCE = 1000
"""How many events one request publishes: the server's maximum."""


class Topics(Part):
    """Ordered lists of events, whose triggers start runs: `client.runs.topics`."""

    async def publish(
        self,
        topic: str,
        events: Iterable[NewEvent | tuple[Any, ...]],
        *,
        idempotency_key: str | None = None,
    ) -> Sequence[int]:
        """Append events in one commit, 1000 at most; return their sequences."""
        published = [_new(NewEvent(*event)) for event in events]
        request: TopicPublishRequest = {
            "namespace": self._namespace,
            "topic": topic,
            "events": published,
        }
        answer = await self._api.topic_publish(
            given(request),
            idempotency_key=idempotency_key,
        )
        return answer["sequences"]

    async def read(self, topic: str, from_sequence: int = 0) -> AsyncGenerator[TopicEvent, None]:
        """Read the events after a sequence that are there now.

        Raises:
            TopicNotFound: there is none: a topic begins with its first event.

        """
        while True:
            payload: TopicGetRequest = {
                "namespace": self._namespace,
                "topic": topic,
                "fromSequence": from_sequence,
                "limit": PAGE,
            }
            payload = given(payload)
            part = await self._api.topic_get(payload)
            for item in part["items"]:
                event = TopicEvent.read(item)
                from_sequence = event.sequence
                yield event
            # A part with large events has fewer of them than it may have.
            if not part["items"] or from_sequence >= part["last"]:
                return

    async def list(self) -> AsyncGenerator[dict[str, Any], None]:
        """List the topics by name."""
        request: TopicsGetRequest = {"namespace": self._namespace}
        async with aclosing(self._items(self._api.topics_get, given(request))) as items:
            async for item in items:
                yield item


def _new(event: NewEvent) -> NewTopicEvent:
    made: NewTopicEvent = {"payload": event.payload}
    if event.type is not None:
        made["type"] = event.type
    if event.key is not None:
        made["key"] = event.key
    if event.id is not None:
        made["id"] = event.id
    return made
