"""Sending requests of any type; what all operations are built on."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Protocol

from interlock import events
from interlock.api.cloudevents_pb2 import CloudEvent
from interlock.api.operations import Api
from interlock.records import Entity
from interlock.stream import Answer

if TYPE_CHECKING:
    from interlock.api.payloads import EntityResponse


class Asker(Protocol):
    """What can send a request."""

    async def ask(self, kind: str, payload: Mapping[str, Any], *, key: str | None = None) -> Answer:
        """Send a request; the answer is used as a context."""

    def ask_streamed(
        self, kind: str, payload: Mapping[str, Any]
    ) -> AsyncGenerator[CloudEvent, None]:
        """Send a request with a streamed answer; yield the events as they arrive."""

    def listen(self, kind: str, payload: Mapping[str, Any]) -> AsyncGenerator[CloudEvent, None]:
        """Send a request with an endless answer; yield the events as they arrive."""


class Requests:
    """Requests of any type."""

    def __init__(self, asker: Asker) -> None:
        """Send requests through `asker`."""
        self._asker = asker

    @property
    def api(self) -> Api:
        """All operations with payloads as they are on the wire, typed."""
        return Api(self)

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

        It is a separate call, so it may be read slowly, and the loop over it may send requests;
        within the transaction of a calculation it is on the member's stream. Leaving the iteration
        early cancels the request.

        Raises:
            BadRequest: the answer is a single one; use `call`. Within a transaction a TypeError.

        """
        async with aclosing(self._asker.ask_streamed(event_type, payload)) as answers:
            async for event in answers:
                yield events.answer(event)

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


async def entities_of(
    answers: AsyncGenerator[EntityResponse, None],
) -> AsyncGenerator[Entity, None]:
    """Read the entities of a streamed answer; leaving early cancels the request."""
    async with aclosing(answers) as items:
        async for item in items:
            yield Entity.read(item["payload"])
