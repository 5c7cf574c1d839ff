"""The types of parameters, and how they are written in payloads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, TypedDict, cast

if TYPE_CHECKING:
    from interlock.api import payloads

ModelName = tuple[str, int]
"""The name and the version of a model."""

ChangeLevel = Literal["ARRAY_LENGTH", "ARRAY_ELEMENTS", "TYPE", "STRUCTURAL"]
"""How far entities may widen their model."""

KeyAudience = Literal["client", "human"]
"""Whose tokens a key pair signs."""

Condition = Mapping[str, Any]
"""A condition as JSON; `{"type": "group", "operator": "AND", "conditions": []}` matches all."""


class OrderBy(TypedDict, total=False):
    """One key of an order; entities that are equal in all of them are ordered by their ids."""

    path: str
    """`$.a.b`, or with the source `meta` one of `state`, `creationDate`, …; required."""
    source: Literal["data", "meta"]
    desc: bool


Aggregation = TypedDict(
    "Aggregation",
    {"op": Literal["sum", "avg", "min", "max", "stdev"], "field": str, "as": str},
    total=False,
)
"""An aggregate of a field of a group; `op` and `field` are required."""


class UniqueKey(TypedDict):
    """Fields whose values no two entities of a model may share."""

    id: str
    fields: list[str]


def spec(model: ModelName) -> payloads.ModelSpec:
    """Write the name and the version of a model.

    Raises:
        ValueError: it is something else, such as the name alone.

    """
    match model:
        case (str(name), int(version)):
            return {"name": name, "version": version}
    raise ValueError(f'{model!r} is not a model; write ("name", version), such as ("parcel", 1)')


def criterion(condition: Condition) -> payloads.Condition:
    """Pass a condition on as it is; the server checks it."""
    return cast("payloads.Condition", condition)


def order(keys: Sequence[OrderBy]) -> Sequence[payloads.OrderBy] | None:
    """Write an order; None if there is none."""
    return cast("Sequence[payloads.OrderBy]", list(keys)) or None


def instant(time: datetime | None) -> str | None:
    """Write a time.

    Raises:
        ValueError: it has no time zone.

    """
    if time is None:
        return None
    if time.tzinfo is None:
        raise ValueError(f"{time} has no time zone; add one")
    # All six digits: to the server, an instant without the last three is a whole millisecond.
    return time.isoformat(timespec="microseconds")
