"""Why an entity did, would or would not move, as values.

Returned by `Operations.explain` and `Operations.explain_supposed`. Where a value is true, false or
None, None means that it depends on a compute member.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from interlock.records import Json, ModelKey

if TYPE_CHECKING:
    from interlock.api import payloads


@dataclass(frozen=True, slots=True)
class CriterionLeaf:
    """A comparison in a criterion."""

    path: str
    """The field or metadata that it tests."""
    operator: str
    operand: Any
    held: bool | None
    """None also if it was not evaluated, because the result was known without it."""
    seen: str | None
    """The value that was there, as JSON, cut if it is long; None if there was none."""

    @classmethod
    def read(cls, payload: Json) -> CriterionLeaf:
        """Read it from a payload."""
        return cls(
            path=payload["path"],
            operator=payload["operator"],
            operand=payload.get("operand"),
            held=payload["held"],
            seen=payload.get("seen"),
        )


@dataclass(frozen=True, slots=True)
class CriterionFunction:
    """A part of a criterion that a compute member decides."""

    name: str
    held: bool | None
    """None also if it was not called, because the result was known without it."""
    reason: str | None
    """The member's reason."""
    criterion: CriterionPart | None
    """The condition that must hold before the member is called."""

    @classmethod
    def read(cls, payload: Json) -> CriterionFunction:
        """Read it from a payload."""
        return cls(
            name=payload["function"],
            held=payload["held"],
            reason=payload.get("reason"),
            criterion=_part(payload.get("criterion")),
        )


@dataclass(frozen=True, slots=True)
class CriterionGroup:
    """A criterion made of others."""

    connective: str
    """`AND`, `OR` or `NOT`."""
    held: bool | None
    parts: tuple[CriterionPart, ...]

    @classmethod
    def read(cls, payload: Json) -> CriterionGroup:
        """Read it from a payload."""
        parts = map(_part, payload["conditions"])
        return cls(
            connective=payload["group"],
            held=payload["held"],
            parts=tuple(part for part in parts if part is not None),
        )


CriterionPart = CriterionLeaf | CriterionFunction | CriterionGroup
"""A criterion, or a part of one."""


@dataclass(frozen=True, slots=True)
class Guard:
    """A workflow or a transition, and the result of its criterion."""

    name: str
    held: bool | None
    because: str | None
    """The part of the criterion that decided it, in words."""
    criterion: CriterionPart | None
    """None if there is none, or if that definition no longer exists."""

    @classmethod
    def read(cls, payload: Json) -> Guard:
        """Read it from a payload."""
        return cls(
            name=payload["name"],
            held=payload["held"],
            because=payload.get("because"),
            criterion=_part(payload.get("criterion")),
        )


@dataclass(frozen=True, slots=True)
class ExplainedTransition:
    """A transition out of the entity's state."""

    name: str
    next: str
    """The state it leads to."""
    trigger: str
    """`automated`, `manual`, `scheduled` or `disabled`."""
    open: bool | None
    """Whether it could be taken now."""
    why: str
    criterion: CriterionPart | None

    @classmethod
    def read(cls, payload: Json) -> ExplainedTransition:
        """Read it from a payload."""
        return cls(
            name=payload["name"],
            next=payload["next"],
            trigger=payload["trigger"],
            open=payload["open"],
            why=payload["why"],
            criterion=_part(payload.get("criterion")),
        )


@dataclass(frozen=True, slots=True)
class ExplainedStep:
    """The decisions and calls of a run in one state."""

    state: str | None
    considered: tuple[Guard, ...]
    """The transitions whose criteria were evaluated, in their order."""
    calls: tuple[str, ...]
    """The calls to compute members, and their results."""
    took: str | None
    """The transition that was taken."""
    next: str | None
    """The state it led to."""

    @classmethod
    def read(cls, payload: Json) -> ExplainedStep:
        """Read it from a payload."""
        return cls(
            state=payload.get("state"),
            considered=_guards(payload["considered"]),
            calls=tuple(payload.get("calls", ())),
            took=payload.get("took"),
            next=payload.get("next"),
        )


class ExplainedWorkflow(NamedTuple):
    """The workflow that governs an entity."""

    name: str
    why: str


@dataclass(frozen=True, slots=True)
class ExplainedRun:
    """One run of the state machine, as it was or as it would be."""

    start: str
    """`create`, `update`, `transition`, `timer` or `continued`."""
    transition: str | None
    """The requested one."""
    workflow: ExplainedWorkflow | None
    skipped_workflows: tuple[Guard, ...]
    """Those that do not match the entity."""
    steps: tuple[ExplainedStep, ...]
    settled: str | None
    """The state in which it ends."""
    stopped: str | None
    """Why it stops, or why it cannot be predicted further."""

    @classmethod
    def read(cls, payload: Json) -> ExplainedRun:
        """Read it from a payload."""
        workflow = payload.get("workflow")
        return cls(
            start=payload["start"],
            transition=payload.get("transition"),
            workflow=ExplainedWorkflow(workflow["name"], workflow["why"]) if workflow else None,
            skipped_workflows=_guards(payload.get("skippedWorkflows", ())),
            steps=tuple(map(ExplainedStep.read, payload["steps"])),
            settled=payload.get("settled"),
            stopped=payload.get("stopped"),
        )


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why an entity did, would or would not move."""

    entity_id: str | None
    """None if it is a supposed one."""
    model: ModelKey
    state: str | None
    """The state it is in, or was left in; None for a new one."""
    transitions: tuple[ExplainedTransition, ...]
    """The transitions out of that state now; none for the past."""
    runs: tuple[ExplainedRun, ...]
    """What the transaction did; or what would be done now."""

    @classmethod
    def read(cls, payload: payloads.WorkflowExplainResponse) -> Explanation:
        """Read it from a payload."""
        return cls(
            entity_id=payload.get("entityId"),
            model=ModelKey.read(payload["model"]),
            state=payload.get("state"),
            transitions=tuple(map(ExplainedTransition.read, payload["transitions"])),
            runs=tuple(map(ExplainedRun.read, payload["runs"])),
        )


def _part(payload: Json | None) -> CriterionPart | None:
    if payload is None:
        return None
    if "group" in payload:
        return CriterionGroup.read(payload)
    if "function" in payload:
        return CriterionFunction.read(payload)
    return CriterionLeaf.read(payload)


def _guards(payload: Iterable[Json]) -> tuple[Guard, ...]:
    return tuple(map(Guard.read, payload))
