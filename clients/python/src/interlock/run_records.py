"""What the server answers about runs, their definitions, actions, tasks, workers and topics.

Each class is read from the payload that the server sends, as those of `interlock.records`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

if TYPE_CHECKING:
    from interlock.api import payloads

Json = Mapping[str, Any]

RunStatus = Literal[
    "pending", "running", "waiting", "completed", "failed", "cancelled", "timed_out"
]
"""Where a run is; the last four are final."""

FINISHED: frozenset[str] = frozenset({"completed", "failed", "cancelled", "timed_out"})
"""The statuses that never change again."""

LAST_EVENTS: frozenset[str] = frozenset(
    {"workflow_completed", "workflow_failed", "workflow_cancelled", "workflow_timed_out"}
)
"""The types of the event that ends a run."""


class DefinitionName(NamedTuple):
    """What a run follows."""

    name: str
    version: str

    @classmethod
    def read(cls, payload: Json) -> DefinitionName:
        """Read it from a payload."""
        return cls(payload["name"], payload["version"])


@dataclass(frozen=True, slots=True)
class Finding:
    """A statement about a document; an error refuses it, a warning does not."""

    code: str
    severity: str
    message: str
    location: str | None

    @classmethod
    def read(cls, payload: Json) -> Finding:
        """Read it from a payload."""
        return cls(
            payload["code"], payload["severity"], payload["message"], payload.get("location")
        )


@dataclass(frozen=True, slots=True)
class StepResult:
    """The last result of a step."""

    outcome: str
    output: Any
    executions: int

    @classmethod
    def read(cls, payload: Json) -> StepResult:
        """Read it from a payload."""
        return cls(payload["outcome"], payload.get("output"), payload["executions"])


@dataclass(frozen=True, slots=True)
class ReceivedSignal:
    """A signal that a run has received."""

    type: str
    payload: Any
    received: datetime
    is_consumed: bool
    """Whether a step has taken it."""

    @classmethod
    def read(cls, payload: Json) -> ReceivedSignal:
        """Read it from a payload."""
        return cls(
            type=payload["type"],
            payload=payload.get("payload"),
            received=datetime.fromisoformat(payload["receivedAt"]),
            is_consumed=payload["consumed"],
        )


@dataclass(frozen=True, slots=True)
class Waiting:
    """What a run waits for."""

    what: str
    """`signal`, `task`, `child`, `timer` or `entity`."""
    name: str | None
    until: datetime | None

    @classmethod
    def read(cls, payload: Json) -> Waiting:
        """Read it from a payload."""
        return cls(payload["for"], payload.get("name"), _time(payload.get("until")))


@dataclass(frozen=True, slots=True)
class Run:
    """A durable execution of a definition."""

    run_id: str
    kind: str
    namespace: str
    definition: DefinitionName
    status: RunStatus
    current_step: str | None
    input: Any
    """None in a list, as `output`, `steps` and `signals` are empty there."""
    output: Any
    error: dict[str, Any] | None
    steps: dict[str, StepResult]
    signals: tuple[ReceivedSignal, ...]
    waiting: Waiting | None
    search_attributes: dict[str, Any]
    parent_run_id: str | None
    entity_id: str | None
    idempotency_key: str | None
    started_by: str
    created: datetime
    started: datetime | None
    finished: datetime | None
    last_sequence: int

    @property
    def is_finished(self) -> bool:
        """Whether it has ended; then nothing of it changes again."""
        return self.status in FINISHED

    @classmethod
    def read(cls, payload: payloads.Run) -> Run:
        """Read it from a payload."""
        waiting = payload.get("waiting")
        steps = payload.get("steps") or {}
        return cls(
            run_id=payload["runId"],
            kind=payload["kind"],
            namespace=payload["namespace"],
            definition=DefinitionName.read(payload["definition"]),
            status=cast(RunStatus, payload["status"]),
            current_step=payload.get("currentStep"),
            input=payload.get("input"),
            output=payload.get("output"),
            error=_plain(payload.get("error")),
            steps={name: StepResult.read(step) for name, step in steps.items()},
            signals=tuple(ReceivedSignal.read(one) for one in payload.get("signals") or ()),
            waiting=Waiting.read(waiting) if waiting else None,
            search_attributes=dict(payload.get("searchAttributes") or {}),
            parent_run_id=payload.get("parentRunId"),
            entity_id=payload.get("entityId"),
            idempotency_key=payload.get("idempotencyKey"),
            started_by=payload["startedBy"],
            created=datetime.fromisoformat(payload["createdAt"]),
            started=_time(payload.get("startedAt")),
            finished=_time(payload.get("finishedAt")),
            last_sequence=payload["lastSequence"],
        )


@dataclass(frozen=True, slots=True)
class Started:
    """What a start did."""

    run_id: str
    definition: DefinitionName
    status: RunStatus
    is_new: bool
    """False if the idempotency key belongs to a run that was started before, which this is."""
    run: Run | None
    """The whole run, if it ended while it was waited for."""

    @classmethod
    def read(cls, payload: payloads.RunStartResponse) -> Started:
        """Read it from a payload."""
        run = payload.get("run")
        return cls(
            run_id=payload["runId"],
            definition=DefinitionName.read(payload["definition"]),
            status=cast(RunStatus, payload["status"]),
            is_new=payload["created"],
            run=Run.read(run) if run else None,
        )


@dataclass(frozen=True, slots=True)
class Signalled:
    """What a signal did."""

    run_id: str
    type: str
    matched: bool
    """Whether the run waited for it; otherwise it is kept until the run does."""
    status: RunStatus

    @classmethod
    def read(cls, payload: payloads.RunSignalResponse) -> Signalled:
        """Read it from a payload."""
        status = cast(RunStatus, payload["status"])
        return cls(payload["runId"], payload["type"], payload["matched"], status)


@dataclass(frozen=True, slots=True)
class RunEvent:
    """One event of the history of a run."""

    run_id: str
    sequence: int
    """1, 2, 3, … in its run."""
    position: int
    """Rises over all runs of the tenant; what following a definition resumes after."""
    event_type: str
    detail: str
    at: datetime
    data: Any

    @property
    def is_last(self) -> bool:
        """Whether the run ended with it."""
        return self.event_type in LAST_EVENTS

    @classmethod
    def read(cls, payload: payloads.HistoryEvent | payloads.RunHistoryEvent) -> RunEvent:
        """Read it from a payload."""
        return cls(
            run_id=payload["runId"],
            sequence=payload["sequence"],
            position=payload["position"],
            event_type=payload["eventType"],
            detail=payload["detail"],
            at=datetime.fromisoformat(payload["time"]),
            data=payload.get("data"),
        )


@dataclass(frozen=True, slots=True)
class CreatedDefinition:
    """What creating a definition did."""

    name: str
    version: str
    digest: str
    change: str
    """`created`, `replaced` or `unchanged`."""
    findings: tuple[Finding, ...]
    """Warnings only: with an error nothing is created."""

    @classmethod
    def read(cls, payload: payloads.RunDefinitionCreateResponse) -> CreatedDefinition:
        """Read it from a payload."""
        return cls(
            name=payload["name"],
            version=payload["version"],
            digest=payload["digest"],
            change=payload["change"],
            findings=_findings(payload),
        )


@dataclass(frozen=True, slots=True)
class Validated:
    """The findings about a document."""

    is_valid: bool
    findings: tuple[Finding, ...]
    next_fires: tuple[datetime, ...]
    """Of a schedule: when it would fire next."""

    @classmethod
    def read(cls, payload: payloads.RunDefinitionValidateResponse) -> Validated:
        """Read it from a payload."""
        fires = payload.get("nextFires") or ()
        return cls(payload["valid"], _findings(payload), tuple(map(datetime.fromisoformat, fires)))


@dataclass(frozen=True, slots=True)
class Definition:
    """A definition; in a list, without what belongs to one version."""

    name: str
    kind: str
    version: str
    versions: tuple[str, ...]
    is_enabled: bool
    description: str
    created: datetime
    digest: str | None
    document: str | dict[str, Any] | None
    """As it was sent."""
    disabled_versions: tuple[str, ...]
    findings: tuple[Finding, ...]
    plans: tuple[str, ...]
    schedule: dict[str, Any] | None
    trigger: dict[str, Any] | None

    @classmethod
    def read(cls, payload: Json) -> Definition:
        """Read it from a payload."""
        return cls(
            name=payload["name"],
            kind=payload["kind"],
            version=payload["version"],
            versions=tuple(payload["versions"]),
            is_enabled=payload["enabled"],
            description=payload.get("description") or "",
            created=datetime.fromisoformat(payload["createdAt"]),
            digest=payload.get("digest"),
            document=payload.get("document"),
            disabled_versions=tuple(payload.get("disabledVersions") or ()),
            findings=_findings(payload),
            plans=tuple(payload.get("plans") or ()),
            schedule=payload.get("schedule"),
            trigger=payload.get("trigger"),
        )


@dataclass(frozen=True, slots=True)
class PlanExecutor:
    """What a plan knows of one of its executors."""

    name: str
    score: Any
    api_rate: Any
    business_rate: Any
    samples: int
    breaker: str
    """`closed`, `open` or `half_open`."""
    open_until: datetime | None
    half_open_calls: int
    last_second: int
    last_minute: int
    last_hour: int

    @classmethod
    def read(cls, payload: Json) -> PlanExecutor:
        """Read it from a payload."""
        return cls(
            name=payload["name"],
            score=payload["score"],
            api_rate=payload["apiRate"],
            business_rate=payload["businessRate"],
            samples=payload["samples"],
            breaker=payload["breaker"],
            open_until=_time(payload.get("openUntil")),
            half_open_calls=payload.get("halfOpenCalls", 0),
            last_second=payload.get("lastSecond", 0),
            last_minute=payload.get("lastMinute", 0),
            last_hour=payload.get("lastHour", 0),
        )


@dataclass(frozen=True, slots=True)
class Plan:
    """The state of a plan of a definition."""

    executors: tuple[PlanExecutor, ...]
    cache_entries: int

    @classmethod
    def read(cls, payload: payloads.PlanGetResponse) -> Plan:
        """Read it from a payload."""
        executors = tuple(PlanExecutor.read(one) for one in payload["executors"])
        return cls(executors, payload["cacheEntries"])


@dataclass(frozen=True, slots=True)
class Action:
    """A registered action."""

    name: str
    type: str
    dispatch: str
    version: int
    is_enabled: bool
    tags: tuple[str, ...]
    owner: str | None
    description: str | None
    timeout_ms: int
    max_retries: int
    pending: int
    running: int

    @classmethod
    def read(cls, payload: payloads.Action | payloads.ActionGetResponse) -> Action:
        """Read it from a payload."""
        return cls(
            name=payload["name"],
            type=payload["type"],
            dispatch=payload["dispatch"],
            version=payload["version"],
            is_enabled=payload["enabled"],
            tags=tuple(payload.get("tags") or ()),
            owner=payload.get("owner"),
            description=payload.get("description"),
            timeout_ms=payload["timeoutMs"],
            max_retries=payload["maxRetries"],
            pending=payload.get("pending", 0),
            running=payload.get("running", 0),
        )


@dataclass(frozen=True, slots=True)
class Task:
    """One execution of an action, outside the server."""

    task_id: str
    kind: str
    name: str
    namespace: str
    status: str
    outcome: str | None
    input: Any
    output: Any
    error: dict[str, Any] | None
    attempt: int
    run_id: str | None
    step: str | None
    taken_by: str | None
    progress: Any
    lease_until: datetime | None
    created: datetime
    finished: datetime | None
    idempotency_key: str | None
    """The same over the executions of a step until one of them is answered."""

    @classmethod
    def read(cls, payload: Json) -> Task:
        """Read it from a payload."""
        return cls(
            task_id=payload["taskId"],
            kind=payload["kind"],
            name=payload["name"],
            namespace=payload["namespace"],
            status=payload["status"],
            outcome=payload.get("outcome"),
            input=payload.get("input"),
            output=payload.get("output"),
            error=payload.get("error"),
            attempt=payload["attempt"],
            run_id=payload.get("runId"),
            step=payload.get("step"),
            taken_by=payload.get("takenBy"),
            progress=payload.get("progress"),
            lease_until=_time(payload.get("leaseUntil")),
            created=datetime.fromisoformat(payload["createdAt"]),
            finished=_time(payload.get("finishedAt")),
            idempotency_key=payload.get("idempotencyKey"),
        )


class Reported(NamedTuple):
    """What the report of a task did."""

    applied: bool
    """False if it came too late: it is recorded, and nothing else happens."""
    will_retry: bool

    @classmethod
    def read(cls, payload: Json) -> Reported:
        """Read it from a payload."""
        return cls(payload["applied"], payload.get("willRetry", False))


@dataclass(frozen=True, slots=True)
class WorkerState:
    """A registered worker, or a member that announces actions."""

    worker_id: str
    actions: tuple[str, ...]
    max_concurrency: int
    labels: dict[str, str]
    is_healthy: bool
    is_draining: bool
    running: int
    last_seen: datetime
    on_stream: bool

    @classmethod
    def read(cls, payload: Json) -> WorkerState:
        """Read it from a payload."""
        return cls(
            worker_id=payload["workerId"],
            actions=tuple(payload["actions"]),
            max_concurrency=payload["maxConcurrency"],
            labels=dict(payload.get("labels") or {}),
            is_healthy=payload["healthy"],
            is_draining=payload["draining"],
            running=payload["running"],
            last_seen=datetime.fromisoformat(payload["lastSeen"]),
            on_stream=payload["stream"],
        )


class NewEvent(NamedTuple):
    """An event to publish; a plain `(payload,)` is accepted as well."""

    payload: Any
    type: str | None = None
    """Clears the caches of plans that name it."""
    key: str | None = None
    """Triggers with the mode `key_shared` start the runs of one key in order."""
    id: str | None = None
    """A second event with the same id is the first one again."""


@dataclass(frozen=True, slots=True)
class TopicEvent:
    """An event of a topic."""

    sequence: int
    payload: Any
    type: str | None
    key: str | None
    id: str | None
    at: datetime

    @classmethod
    def read(cls, payload: payloads.TopicEvent) -> TopicEvent:
        """Read it from a payload."""
        return cls(
            sequence=payload["sequence"],
            payload=payload["payload"],
            type=payload.get("type"),
            key=payload.get("key"),
            id=payload.get("id"),
            at=datetime.fromisoformat(payload["time"]),
        )


def _plain(error: payloads.RunError | None) -> dict[str, Any] | None:
    return None if error is None else {**error}


def _findings(payload: Json) -> tuple[Finding, ...]:
    return tuple(Finding.read(one) for one in payload.get("findings") or ())


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


@dataclass(frozen=True, slots=True)
class Bundle:
    """HCL files that were applied together: sagas, state machines and connectors."""

    name: str
    version: int
    sagas: tuple[str, ...]
    machines: tuple[str, ...]
    routes: tuple[str, ...]
    connectors: tuple[str, ...]
    findings: tuple[Finding, ...]
    change: str | None
    """What applying it did: `created`, `replaced` or `unchanged`."""
    files: dict[str, str] | None
    """The texts by path, where one bundle is read."""

    @classmethod
    def read(cls, payload: Json) -> Bundle:
        """Read it from a payload."""
        files = payload.get("files")
        return cls(
            payload["bundle"],
            payload["version"],
            tuple(payload["sagas"]),
            tuple(payload["machines"]),
            tuple(payload["routes"]),
            tuple(payload["connectors"]),
            tuple(Finding.read(finding) for finding in payload["findings"]),
            payload.get("change"),
            None if files is None else {file["path"]: file["text"] for file in files},
        )


@dataclass(frozen=True, slots=True)
class Machine:
    """A state machine of a bundle."""

    name: str
    bundle: str
    initial: str
    states: tuple[str, ...]

    @classmethod
    def read(cls, payload: payloads.Machine) -> Machine:
        """Read it from a payload."""
        return cls(
            payload["machine"], payload["bundle"], payload["initial"], tuple(payload["states"])
        )


@dataclass(frozen=True, slots=True)
class Fired:
    """A row or an entity that an event of a state machine has moved."""

    entity_id: str
    machine: str
    previous_state: str
    current_state: str
    event: str
    action_result: Any = None

    @classmethod
    def read(cls, payload: payloads.MachineTransitionResponse) -> Fired:
        """Read it from a payload."""
        return cls(
            payload["entityId"],
            payload["machine"],
            payload["previousState"],
            payload["currentState"],
            payload["event"],
            payload.get("actionResult"),
        )
