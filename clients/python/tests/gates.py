"""Processors that wait for the test."""

import asyncio

from interlock import Context, Entity, Member


class Gate:
    """A processor, `price`, whose calls stay in flight until they are let go."""

    def __init__(self, member: Member) -> None:
        self.in_work = 0
        self.most_in_work = 0
        self.may_end = asyncio.Event()
        self.contexts: list[Context] = []
        self._changed = asyncio.Condition()
        member.processor("price")(self)

    async def __call__(self, _entity: Entity, context: Context) -> None:
        """Be called."""
        self.contexts.append(context)
        await self._changes_by(1)
        try:
            await self.may_end.wait()
        finally:
            await self._changes_by(-1)

    async def until(self, in_work: int) -> None:
        """Wait until so many calls are in flight."""
        async with asyncio.timeout(10), self._changed:
            await self._changed.wait_for(lambda: self.in_work == in_work)

    async def _changes_by(self, number: int) -> None:
        async with self._changed:
            self.in_work += number
            self.most_in_work = max(self.most_in_work, self.in_work)
            self._changed.notify_all()
