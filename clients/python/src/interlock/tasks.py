"""A task: an execution of an action that a server sends to a member, and the answer.

Nothing here waits or sends but `TaskContext.touch`; `interlock.member` does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from interlock import answers, events, tracing
from interlock.api.cloudevents_pb2 import CloudEvent
from interlock.calculation import Caller, Kind, Transaction, failure_details
from interlock.operations import Operations
from interlock.run_records import DefinitionName
from interlock.stream import Stream

REQUEST = "TaskCalculationRequest"
RESPONSE = "TaskCalculationResponse"
CANCEL = "TaskCancelEvent"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of an action whose outcome is not `success`; the step's `transitions` name it."""

    name: str
    output: Any = field(default_factory=dict)
    """Any value that has a form in JSON."""


@dataclass(frozen=True, slots=True)
class Pending:
    """The result of an action that has begun what ends later.

    The task stays open until its outcome is reported: by `client.runs.tasks.complete` or `fail`,
    from anywhere. What was written in its transaction is committed.
    """

    output: Any = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TaskContext:
    """What an action may know besides its input, and what it may do."""

    client: Operations
    """Reads and writes in the transaction that the step's outcome is committed in.

    What it writes is committed together with the outcome, or not at all: a failure, a timeout
    and a lost connection discard it.
    """
    name: str
    task_id: str
    """The same for every delivery of the task."""
    attempt: int
    """From 1."""
    namespace: str
    run_id: str | None
    """None if the action was invoked without a run."""
    definition: DefinitionName | None
    step: str | None
    deadline: datetime
    idempotency_key: str
    """The same over the executions of a step until one of them is answered.

    What is done elsewhere, or without the transaction, should carry a key that is made of it.
    """
    parameters: str | None
    """The `context` of the action, as it was registered."""
    caller: Caller
    outside: Operations
    """All operations, outside the transaction."""
    warnings: list[str] = field(default_factory=list)

    def warn(self, text: str) -> None:
        """Add a warning to what is recorded, whether this succeeds or not."""
        self.warnings.append(text)

    async def touch(self, *, extend: timedelta | None = None, progress: Any = None) -> None:
        """Move the deadline, and say how far the work is.

        Raises:
            TaskNotFound: the task is no longer open.
            RunFinished: its run has ended; give it up.

        """
        await self.outside.runs.tasks.touch(self.task_id, extend=extend, progress=progress)


@dataclass(frozen=True, slots=True)
class TaskCall:
    """A delivery of a task to this member."""

    kind: Kind
    id: str
    input: Any
    context: TaskContext
    trace: Mapping[str, str]
    """The trace of the caller."""
    is_connector_call: bool = False
    """Whether a saga calls a connector: how that has ended matters also if it was cancelled."""

    @staticmethod
    def is_asked_by(event: CloudEvent) -> bool:
        """Whether an event delivers a task."""
        return event.type == REQUEST

    @classmethod
    def read(cls, event: CloudEvent, stream: Stream) -> TaskCall:
        """Read it from the event that came on `stream`.

        Raises:
            BadRequest: the payload is not JSON.
            KeyError: it lacks a member.

        """
        payload = events.payload(event)
        roles = events.attribute(event, "authclaims") or ""
        definition = payload.get("definition")
        context = TaskContext(
            client=Operations(Transaction(stream, events.attribute(event, events.TOKEN))),
            name=payload["name"],
            task_id=payload["taskId"],
            attempt=payload["attempt"],
            namespace=payload["namespace"],
            run_id=payload.get("runId"),
            definition=DefinitionName.read(definition) if definition else None,
            step=payload.get("step"),
            deadline=datetime.fromisoformat(payload["deadline"]),
            idempotency_key=payload["idempotencyKey"],
            parameters=payload.get("context"),
            caller=Caller(
                kind=events.attribute(event, "authtype") or "",
                id=events.attribute(event, "authid") or "",
                roles=tuple(roles.split(",")) if roles else (),
            ),
            outside=Operations(Transaction(stream, None)),
        )
        trace = tracing.trace_of(event)
        is_connector_call = payload.get("kind") == "connector"
        return cls(
            Kind.ACTION, payload["requestId"], payload["input"], context, trace, is_connector_call
        )

    def done(self, result: Any) -> CloudEvent:
        """Answer with the result.

        Raises:
            TypeError: it has no form in JSON.
            ValueError: a number in it is infinite or not a number.

        """
        return self._answer({"success": True, **outcome(result)})

    def failed(self, error: BaseException) -> CloudEvent:
        """Answer that it failed, with the text of the error, and its type if it is unexpected."""
        return self._answer(failure(error))

    def _answer(self, members: Mapping[str, Any]) -> CloudEvent:
        payload = {"requestId": self.id, **members}
        if self.context.warnings:
            payload["warnings"] = answers.bounded_warnings(self.context.warnings)
        return events.event(RESPONSE, payload)


def outcome(result: Any) -> dict[str, Any]:
    """Return the members of an answer that contain the result of an action."""
    name, output = "success", result
    match result:
        case Outcome():
            name, output = result.name, result.output
        case Pending():
            name, output = "pending", result.output
    return {"outcome": name, "output": {} if output is None else output}


def failure(error: BaseException) -> dict[str, Any]:
    """Return the members of an answer that say that an action failed."""
    details = failure_details(error)
    # Exceptions of other libraries have codes of other kinds.
    if isinstance(code := getattr(error, "code", None), str):
        details["code"] = answers.bounded(code, answers.WARNING_BYTES_MAX)
    return {"success": False, "error": details}
