"""Servers that do what a test tells them, for what a real one does not do, or not soon."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, NoReturn

import grpc

from interlock import events
from interlock.api.cloudevents_pb2 import CloudEvent

SERVICE = "org.cyoda.cloud.api.grpc.CloudEventsService"


class Side:
    """The server's side of one stream."""

    def __init__(self, context: grpc.aio.ServicerContext[CloudEvent, CloudEvent]) -> None:
        self._context = context

    async def read(self) -> CloudEvent:
        """Wait for an event of the client."""
        event = await self._context.read()
        assert isinstance(event, CloudEvent), "the client has said all it will say"
        return event

    async def write(self, kind: str, payload: dict[str, Any], **attributes: str) -> None:
        """Send an event."""
        event = events.event(kind, payload)
        for name, value in attributes.items():
            event.attributes[name].ce_string = value
        await self.write_raw(event)

    async def write_raw(self, event: CloudEvent) -> None:
        """Send an event as it is."""
        await self._context.write(event)

    async def fail(self, status: grpc.StatusCode, details: str) -> NoReturn:
        """End the call with a status."""
        await self._context.abort(status, details)

    async def greet(self) -> None:
        """Take the client as a member."""
        assert (await self.read()).type == events.JOIN
        await self.write(events.GREETING, {"memberId": "m-1", "success": True})


async def nothing(*_given: Any) -> None:
    """Send nothing."""


@asynccontextmanager
async def scripted(
    script: Callable[[Side], Awaitable[None]] = nothing,
    *,
    answers: Callable[[CloudEvent, Side], Awaitable[None]] = nothing,
    version: str | None = None,
) -> AsyncIterator[str]:
    """Run a server of a version that follows a script on every stream; where it listens.

    `answers` sends what a request on a separate call is answered with.
    """
    metadata = () if version is None else (("interlock-version", version),)

    async def follow(
        _requests: AsyncIterator[CloudEvent],
        context: grpc.aio.ServicerContext[CloudEvent, CloudEvent],
    ) -> None:
        await context.send_initial_metadata(metadata)
        await script(Side(context))

    method = grpc.stream_stream_rpc_method_handler(
        follow,
        request_deserializer=CloudEvent.FromString,
        response_serializer=CloudEvent.SerializeToString,
    )

    async def answer(
        request: CloudEvent,
        context: grpc.aio.ServicerContext[CloudEvent, CloudEvent],
    ) -> None:
        await context.send_initial_metadata(metadata)
        await answers(request, Side(context))

    separate = grpc.unary_stream_rpc_method_handler(
        answer,
        request_deserializer=CloudEvent.FromString,
        response_serializer=CloudEvent.SerializeToString,
    )
    methods = {"startStreaming": method, "entitySearchCollection": separate}
    running = grpc.aio.server()
    running.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, methods),))
    port = running.add_insecure_port("127.0.0.1:0")
    await running.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        await running.stop(None)
