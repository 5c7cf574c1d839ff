"""Reading streamed answers ahead of the program, with bounded memory.

A server resets the call of an answer that is not read for 30 s, and counts what is unread. So a
program that takes its time for each entity of a search has it read for it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import aclosing

from interlock.api.cloudevents_pb2 import CloudEvent

UNREAD_BYTES_MAX = 64 << 20
"""How many bytes of all answers may be unread before the server has to wait."""


class Ahead:
    """The answers of one connection that are read ahead."""

    def __init__(self) -> None:
        self._unread_bytes = 0
        self._was_read = asyncio.Event()

    async def read(
        self, source: AsyncGenerator[CloudEvent, None]
    ) -> AsyncGenerator[CloudEvent, None]:
        """Yield the events of an answer, some of which have come before."""
        came: deque[CloudEvent] = deque()
        arrived = asyncio.Event()
        reading = asyncio.create_task(self._read_into(came, arrived, source))
        reading.add_done_callback(lambda _: arrived.set())
        try:
            while True:
                while not came and not reading.done():
                    arrived.clear()
                    await arrived.wait()
                if not came:
                    reading.result()
                    return
                yield self._taken(came)
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
            while came:
                self._taken(came)

    async def _read_into(
        self,
        came: deque[CloudEvent],
        arrived: asyncio.Event,
        source: AsyncGenerator[CloudEvent, None],
    ) -> None:
        async with aclosing(source) as events:
            async for event in events:
                came.append(event)
                self._unread_bytes += event.ByteSize()
                arrived.set()
                # Each may have one: the loop over another answer may be waiting for it.
                while came and self._unread_bytes > UNREAD_BYTES_MAX:
                    await self._was_read.wait()

    def _taken(self, came: deque[CloudEvent]) -> CloudEvent:
        event = came.popleft()
        self._unread_bytes -= event.ByteSize()
        was_read, self._was_read = self._was_read, asyncio.Event()
        was_read.set()
        return event
