"""Models and workflows for tests."""

from typing import Any

from interlock import ModelName, Operations

PARCEL = ("parcel", 1)
SAMPLE = {"sku": "A-1", "quantity": 3, "weight": 1.5, "tags": ["x"], "size": {"width": 2.5}}

ALL = {"type": "group", "operator": "AND", "conditions": []}
"""The condition that everything satisfies."""

TAG = "test"
"""What processors ask of members."""


def holds(path: str, operator: str, value: Any) -> dict[str, Any]:
    """Make a condition on one field."""
    return {"type": "simple", "jsonPath": path, "operatorType": operator, "value": value}


def processor(name: str, **config: Any) -> dict[str, Any]:
    """Define a processor that runs in the transaction."""
    return {
        "name": name,
        "type": "externalized",
        "executionMode": "SYNC",
        "config": {"calculationNodesTags": TAG, **config},
    }


def asks(name: str, **config: Any) -> dict[str, Any]:
    """Make a condition that a member decides."""
    config = {"calculationNodesTags": TAG, **config}
    return {"type": "function", "function": {"name": name, "config": config}}


def scheduled_by(name: str, **config: Any) -> dict[str, Any]:
    """Make a schedule that a member decides."""
    function = {"name": name, "resultKind": "Schedule", "calculationNodesTags": TAG, **config}
    return {"function": function}


def transition(
    name: str,
    next_state: str,
    *processors: dict[str, Any],
    manual: bool = False,
    **others: Any,
) -> dict[str, Any]:
    """Define a transition."""
    named = {"name": name, "next": next_state, "manual": manual}
    return named | {"processors": list(processors)} | others


def workflow(initial: str, **states: list[dict[str, Any]]) -> dict[str, Any]:
    """Define a workflow by the transitions of its states."""
    return {
        "version": "1",
        "name": "flow",
        "initialState": initial,
        "states": {name: {"transitions": transitions} for name, transitions in states.items()},
    }


def processed_on_creation(*processors: dict[str, Any]) -> dict[str, Any]:
    """Define a workflow that runs processors on the way from `NEW` to `DONE`."""
    return workflow("NEW", NEW=[transition("process", "DONE", *processors)], DONE=[])


async def make_model(
    client: Operations,
    model: ModelName = PARCEL,
    sample: Any = SAMPLE,
    *,
    flow: dict[str, Any] | None = None,
) -> None:
    """Import and lock a model."""
    await client.import_model(model, sample)
    await client.lock_model(model)
    if flow is not None:
        await client.import_workflows(model, [flow])
