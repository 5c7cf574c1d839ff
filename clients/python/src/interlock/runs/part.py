"""What the parts of `client.runs` have in common."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from interlock.api.operations import Api

if TYPE_CHECKING:
    from interlock.operations import Operations

PAGE = 1000
"""How many items of a list are requested at a time: the server's maximum."""

Request = TypeVar("Request", bound=Mapping[str, Any])


class Part:
    """What asks in a namespace."""

    def __init__(self, operations: Operations, namespace: str | None) -> None:
        self._operations = operations
        self._namespace = namespace

    @property
    def _api(self) -> Api:
        return self._operations.api

    async def _items(
        self,
        get: Callable[[Request], Awaitable[Any]],
        request: Request,
        limit: int | None = None,
    ) -> AsyncGenerator[Any, None]:
        """Read the items of all pages, or so many of them."""
        left = limit
        wanted: Any = dict(request)
        while left is None or left > 0:
            wanted["limit"] = PAGE if left is None else min(PAGE, left)
            answer = await get(wanted)
            for item in answer["items"]:
                yield item
            left = None if left is None else left - len(answer["items"])
            pagination = answer.get("pagination") or {}
            if not pagination.get("hasNext") or pagination.get("nextCursor") is None:
                return
            wanted["cursor"] = pagination["nextCursor"]


def ms(span: timedelta | None) -> int | None:
    """Write a span in whole milliseconds, rounded up."""
    return None if span is None else -(-span // timedelta(milliseconds=1))
