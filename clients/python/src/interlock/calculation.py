"""A calculation: a server's call to a compute member, and the response.

Nothing here waits or sends; `interlock.member` does.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from traceback import format_exception_only
from typing import Any

from interlock import answers, errors, events, tracing
from interlock.api.cloudevents_pb2 import CloudEvent
from interlock.operations import Operations
from interlock.records import Entity
from interlock.stream import Answer, Lane, Stream

_PREFIX = "Entity"
_SUFFIX = "CalculationRequest"

# Where the payload of a call that cannot be read names the call. It is before the document.
_REQUEST_ID = re.compile(r'"requestId"\s*:\s*"([^"\\]+)"')

_IN_FLIGHT = 16
"""How many requests of one calculation are sent before they are answered.

The server works on those of one transaction one after the other anyway.
"""


class Kind(StrEnum):
    """What a workflow may call; the values are as in the types of the events."""

    PROCESSOR = "processor"
    CRITERION = "criteria"
    SCHEDULE = "function"
    ACTION = "action"


class Rejected(Exception):
    """Raised by a processor to reject the transition. The text is returned to the caller.

    A criterion or a schedule that raises it ends the whole request as well. A criterion that
    merely does not hold returns False or `No`. An action that raises it fails; its `code` is what
    a plan calls fatal or retryable.
    """

    def __init__(self, *reasons: object, code: str | None = None) -> None:
        super().__init__(*reasons)
        self.code = code

    def __str__(self) -> str:
        """Return the reason; a server names none by itself."""
        return "no reason was given" if self.args in ((), (None,)) else super().__str__()


class Retryable(Rejected):
    """Raised by a processor, a criterion or an action that may succeed if it is retried.

    The server retries, at another member if there is one, if the workflow says
    `"retryPolicy": "FIXED"` of it; an action as often as it was registered with. What must not be
    done twice is best done under `Context.dispatch_key`, or after whatever may raise this.
    """


@dataclass(frozen=True, slots=True)
class No:
    """The result of a criterion that does not hold, with a reason; it is false itself."""

    reason: str
    """Stored with the decision, and returned to the caller; at most 2048 bytes."""

    def __bool__(self) -> bool:
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """When a scheduled transition is due: the result of a schedule function.

    Times are rounded up to whole milliseconds.

    Raises:
        ValueError: not exactly one of `fire_at` and `fire_after` is given, or both of `expire_at`
            and `expire_after`, or a time has no time zone.

    """

    fire_at: datetime | None = None
    """When it fires; at once if that time has passed."""
    fire_after: timedelta | None = None
    """How long from now it fires."""
    expire_at: datetime | None = None
    """It does not fire at or after this time; never, if it is due at or after this time."""
    expire_after: timedelta | None = None
    """It does not fire if this much time has passed since it was due."""

    def __post_init__(self) -> None:
        if (self.fire_at is None) == (self.fire_after is None):
            raise ValueError("a schedule needs either `fire_at` or `fire_after`")
        if self.expire_at is not None and self.expire_after is not None:
            raise ValueError("a schedule may have one of `expire_at` and `expire_after`")
        for time in (self.fire_at, self.expire_at):
            if time is not None and time.tzinfo is None:
                raise ValueError(f"{time} has no time zone; add one")

    def payload(self) -> dict[str, int]:
        """Return the form that the server expects."""
        members = {
            "fireAt": _since_the_epoch(self.fire_at),
            "fireAfterMs": self.fire_after,
            "expireAt": _since_the_epoch(self.expire_at),
            "expireAfterMs": self.expire_after,
        }
        return {
            name: -(-span // timedelta(milliseconds=1))
            for name, span in members.items()
            if span is not None
        }


def _since_the_epoch(time: datetime | None) -> timedelta | None:
    return None if time is None else time - datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Caller:
    """Who caused a calculation."""

    kind: str
    """`user`, `service` or `system`."""
    id: str
    roles: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Transition:
    """The transition that a calculation is a part of.

    Its names are empty where there is none: for the criterion by which a workflow is chosen.
    """

    name: str
    state_from: str
    state_to: str


@dataclass(frozen=True, slots=True)
class Context:
    """What a processor, criterion or schedule may know besides the entity, and what it may do."""

    client: Operations
    """Reads and writes in the transaction that the calculation is a part of.

    They see what the transaction has written so far, and what they write is committed or rolled
    back together with it. Nobody else sees it before. A processor that the workflow runs outside
    a transaction gets a client that works outside one, too.
    """
    name: str
    """What is called, as the workflow names it."""
    entity_id: str
    parameters: str | None
    """The `context` of what is called, as it is written in the workflow."""
    workflow: str
    transition: Transition
    transaction_id: str | None
    dispatch_key: str | None
    """The same for every attempt of one call; what was done under it need not be done again."""
    caller: Caller
    warnings: list[str] = field(default_factory=list)
    deadline: datetime | None = None
    """When the server gives the call up; what still runs then is cancelled."""

    def warn(self, text: str) -> None:
        """Tell the caller something, whether this succeeds or not."""
        self.warnings.append(text)


@dataclass(frozen=True, slots=True)
class Calculation:
    """A request of a server to its compute member."""

    kind: Kind
    id: str
    entity: Entity | None
    """None if the workflow does not attach it."""
    context: Context
    trace: Mapping[str, str]
    """The trace of the caller."""
    time_limit: float | None = None
    """After how many seconds the server gives it up."""

    @staticmethod
    def is_asked_by(event: CloudEvent) -> bool:
        """Whether an event is a calculation request."""
        return event.type.startswith(_PREFIX) and event.type.endswith(_SUFFIX)

    @classmethod
    def read(cls, event: CloudEvent, stream: Stream) -> Calculation:
        """Read it from the event that came on `stream`.

        Raises:
            BadRequest: the payload is not JSON.
            KeyError: it lacks a member.
            ValueError: it is of an unknown kind.

        """
        payload = events.payload(event)
        kind = Kind(event.type.removeprefix(_PREFIX).removesuffix(_SUFFIX).lower())
        token = events.attribute(event, events.TOKEN)
        roles = events.attribute(event, "authclaims") or ""
        transition = payload.get("transition", {})
        milliseconds = events.attribute(event, events.TIME_LIMIT)
        time_limit = None if milliseconds is None else int(milliseconds) / 1000
        context = Context(
            client=Operations(Transaction(stream, token)),
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
            deadline=(
                None if time_limit is None else datetime.now(UTC) + timedelta(seconds=time_limit)
            ),
        )
        attached = payload.get("payload")
        entity = Entity.read(attached) if attached else None
        trace = tracing.trace_of(event)
        return cls(kind, payload["requestId"], entity, context, trace, time_limit)

    def done(self, result: Any) -> CloudEvent:
        """Respond with the result.

        Raises:
            TypeError: that is none of what may come out of it.
            ValueError: a number in it is infinite or not a number.

        """
        return self._answer({"success": True} | _outcome(self.kind, result))

    def failed(self, error: BaseException) -> CloudEvent:
        """Answer that it failed.

        For a `Rejected` or an `InterlockError` the server gets its text only; for any other
        exception, its type too.
        """
        details = {"code": "CLIENT_ERROR"} | failure_details(error)
        if isinstance(error, Rejected) and error.code is not None:
            details["code"] = answers.bounded(error.code, answers.WARNING_BYTES_MAX)
        return self._answer({"success": False, "error": details})

    def _answer(self, outcome: Mapping[str, Any]) -> CloudEvent:
        kind = f"{_PREFIX}{self.kind.capitalize()}CalculationResponse"
        payload = {"requestId": self.id, "entityId": self.context.entity_id, **outcome}
        if self.context.warnings:
            payload["warnings"] = answers.bounded_warnings(self.context.warnings)
        return events.event(kind, payload)


def failure_details(error: BaseException) -> dict[str, Any]:
    """Return what an answer says of an error, but for its code."""
    if isinstance(error, Rejected | errors.InterlockError):
        text: object = error
    else:
        text = "".join(format_exception_only(error)).strip()
    details: dict[str, Any] = {"message": answers.bounded(text, answers.FAILURE_BYTES_MAX)}
    passing = isinstance(error, errors.InterlockError) and error.retryable
    if passing or isinstance(error, Retryable):
        details["retryable"] = True
    return details


def refusal(event: CloudEvent, error: Exception) -> CloudEvent | None:
    """Answer a call that cannot be read; None if not even its id is known.

    Another member may be able to read it.
    """
    text = event.text_data or event.binary_data.decode(errors="replace")
    if (named := _REQUEST_ID.search(text)) is None:
        return None
    details = failure_details(error) | {"retryable": True}
    details["message"] = f"this member cannot read the call: {details['message']}"
    answered = {"requestId": named[1], "success": False, "error": details}
    return events.event(event.type.removesuffix("Request") + "Response", answered)


def _outcome(kind: Kind, result: Any) -> dict[str, Any]:
    """Return the members of a response that contain the result of a calculation."""
    match kind, result:
        case Kind.PROCESSOR, None:
            return {}
        case Kind.PROCESSOR, Mapping():
            return {"payload": {"type": "JSON", "data": result}}
        case Kind.CRITERION, bool():
            return {"matches": result}
        case Kind.CRITERION, No():
            return {"matches": False, "reason": result.reason}
        case Kind.SCHEDULE, Schedule():
            return {"resultKind": "Schedule", "result": result.payload()}
    what = type(result).__name__
    raise TypeError(f"a {kind.name.lower()} returns {_RETURNS[kind]}, not a {what}")


_RETURNS = {
    Kind.PROCESSOR: "the whole new document or None",
    Kind.CRITERION: "True, False or a No",
    Kind.SCHEDULE: "a Schedule",
}


class Transaction:
    """Asks in the transaction of a calculation: on its stream, with its token."""

    def __init__(self, stream: Stream, token: str | None) -> None:
        self._stream = stream
        self._lane = Lane(_IN_FLIGHT, token=token) if token else None

    async def ask(self, kind: str, payload: Mapping[str, Any], *, key: str | None = None) -> Answer:
        """Send a request with the token of the transaction, if there is one."""
        return await self._stream.ask(kind, payload, self._lane, key=key)

    async def ask_streamed(
        self, kind: str, payload: Mapping[str, Any]
    ) -> AsyncGenerator[CloudEvent, None]:
        """Send a request with a streamed answer, as `ask` does: only the stream has its order."""
        async with await self.ask(kind, payload) as answer:
            came = 0
            while (event := await answer.next()) is not None:
                if events.SEQUENCE in event.attributes:
                    came += 1
                    yield event
                elif (sent := events.answer(event).get("count")) is None:
                    raise TypeError(f"{kind} has a single answer; use `call`")
                elif sent != came:
                    raise errors.ServerError(f"{sent} answers were sent, but {came} arrived")

    def listen(self, kind: str, payload: Mapping[str, Any]) -> AsyncGenerator[CloudEvent, None]:
        """Refuse: an endless answer is no part of a transaction."""
        raise errors.NotSupported("an endless answer cannot be part of a transaction; use a client")
