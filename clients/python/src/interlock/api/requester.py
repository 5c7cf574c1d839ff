"""What generated methods need to send their requests."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from typing import Any, Protocol, TypeVar, cast

Payload = TypeVar("Payload", bound=Mapping[str, Any])


class Requester(Protocol):
    """What can send a request and read the payloads of its answer."""

    async def call(
        self,
        event_type: str,
        payload: Mapping[str, Any],
        *,
        idempotency_key: str | None = None,
    ) -> Any:
        """Send a request with a single answer, and return its payload."""

    def stream(self, event_type: str, payload: Mapping[str, Any]) -> AsyncGenerator[Any, None]:
        """Send a request with a streamed answer, and yield the payloads."""

    def listen(self, event_type: str, payload: Mapping[str, Any]) -> AsyncGenerator[Any, None]:
        """Send a request with an endless answer, and yield the payloads."""


def given(payload: Payload) -> Payload:
    """Return a payload without the members that are None."""
    members: Any = {name: value for name, value in payload.items() if value is not None}
    return cast(Payload, members)
