"""A calculation: what a server asks of a compute member, and what it is answered.

Nothing here waits or sends; `interlock.member` does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from traceback import format_exception_only
from typing import Any

from interlock import errors, events
from interlock.cloudevents_pb2 import CloudEvent
from interlock.operations import Operations
from interlock.records import Entity
from interlock.stream import Answer, Lane, Stream

_PREFIX = "Entity"
_SUFFIX = "CalculationRequest"

_IN_FLIGHT = 16
"""How many requests of one calculation are sent before they are answered.

The server works on those of one transaction one after the other anyway.
"""


class Rejected(Exception):
    """Raised by a processor: the transition must not happen. The text is told to the caller."""


class Retryable(Rejected):
    """Raised by a processor that may succeed when it is tried again.

    The server does try again, at another member if there is one, where the workflow's processor
    has the `retryPolicy` `FIXED`.
    """


@dataclass(frozen=True, slots=True)
class Caller:
    """Who caused a calculation."""

    kind: str
    """`user`, `service` or `system`."""
    id: str
    roles: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Transition:
    """The transition that a calculation is a part of."""

    name: str
    state_from: str
    state_to: str


@dataclass(frozen=True, slots=True)
class Context:
    """What a processor may know besides the entity, and what it may do."""

    client: Operations
    """Reads and writes in the transaction that the calculation is a part of.

    They see what the transaction has written so far, and what they write is committed or rolled
    back together with it. Nobody else sees it before. A processor that the workflow runs outside
    a transaction gets a client that works outside one, too.
    """
    name: str
    """The processor that is called."""
    entity_id: str
    parameters: str | None
    """The `context` of the processor in the workflow, as it is written there."""
    workflow: str
    transition: Transition
    transaction_id: str | None
    dispatch_key: str | None
    """The same for every attempt of one call; what was done under it need not be done again."""
    caller: Caller
    warnings: list[str] = field(default_factory=list)

    def warn(self, text: str) -> None:
        """Tell the caller something, whether the processor succeeds or not."""
        self.warnings.append(text)


@dataclass(frozen=True, slots=True)
class Calculation:
    """A request of a server to its compute member."""

    kind: str
    """`processor`, or what else a workflow may call."""
    id: str
    entity: Entity | None
    """None where the workflow says not to attach it."""
    context: Context

    @staticmethod
    def is_asked_by(event: CloudEvent) -> bool:
        """Whether an event asks for a calculation."""
        return event.type.startswith(_PREFIX) and event.type.endswith(_SUFFIX)

    @classmethod
    def read(cls, event: CloudEvent, stream: Stream) -> Calculation:
        """Read it from the event that came on `stream`.

        Raises:
            BadRequest: the payload is not JSON.
            KeyError: it lacks a member.

        """
        payload = events.payload(event)
        kind = event.type.removeprefix(_PREFIX).removesuffix(_SUFFIX).lower()
        token = events.attribute(event, events.TOKEN)
        roles = events.attribute(event, "authclaims") or ""
        transition = payload.get("transition", {})
        context = Context(
            client=Operations(_Transaction(stream, token)),
            name=payload[f"{kind}Name"],
            entity_id=payload["entityId"],
            parameters=payload.get("parameters"),
            workflow=payload.get("workflow", {}).get("name", ""),
            transition=Transition(
                name=transition.get("name", ""),
                state_from=transition.get("stateFrom", ""),
                state_to=transition.get("stateTo", ""),
            ),
            transaction_id=payload.get("transactionId") or None,
            dispatch_key=events.attribute(event, "dispatchkey"),
            caller=Caller(
                kind=events.attribute(event, "authtype") or "",
                id=events.attribute(event, "authid") or "",
                roles=tuple(roles.split(",")) if roles else (),
            ),
        )
        attached = payload.get("payload")
        entity = Entity.read(attached) if attached else None
        return cls(kind, payload["requestId"], entity, context)

    def done(self, data: Any) -> CloudEvent:
        """Answer that it succeeded; with the new document, or None to leave the entity as it is.

        Raises:
            TypeError: a document is an object, and its values have a JSON form.
            ValueError: a number in it is infinite or not a number.

        """
        if data is None:
            return self._answer({"success": True})
        if not isinstance(data, Mapping):
            kind = type(data).__name__
            raise TypeError(f"a processor returns the whole new document or None, not a {kind}")
        return self._answer({"success": True, "payload": {"type": "JSON", "data": data}})

    def failed(self, error: Exception) -> CloudEvent:
        """Answer that it failed.

        A `Rejected` speaks for itself, and so does an `InterlockError`; of any other exception
        the name is told, too.
        """
        if isinstance(error, Rejected | errors.InterlockError):
            text = str(error)
        else:
            text = "".join(format_exception_only(error)).strip()
        told: dict[str, Any] = {"code": "CLIENT_ERROR", "message": text}
        passing = isinstance(error, errors.InterlockError) and error.retryable
        if passing or isinstance(error, Retryable):
            told["retryable"] = True
        return self._answer({"success": False, "error": told})

    def _answer(self, outcome: Mapping[str, Any]) -> CloudEvent:
        kind = f"{_PREFIX}{self.kind.capitalize()}CalculationResponse"
        payload = {"requestId": self.id, "entityId": self.context.entity_id, **outcome}
        if self.context.warnings:
            payload["warnings"] = self.context.warnings
        return events.event(kind, payload)


class _Transaction:
    """Asks in the transaction of a calculation: on its stream, with its token."""

    def __init__(self, stream: Stream, token: str | None) -> None:
        self._stream = stream
        self._lane = Lane(_IN_FLIGHT, token=token) if token else None

    async def ask(self, kind: str, payload: Mapping[str, Any]) -> Answer:
        return await self._stream.ask(kind, payload, self._lane)
