"""Hooks for schemathesis: much of what it sends is about a stage that the test has set.

By itself it makes up names and ids, so nearly every request would be about what is not there.
"""

import json
import os
import random
from typing import Any

import schemathesis

STAGE: dict[str, Any] = json.loads(os.environ["STAGE"])
CHANCE = random.Random(1)

KEPT = {"deleteModel", "unlockModel", "deleteEntities", "importWorkflows", "setUniqueKeys"}
"""Operations that would take the stage away."""


def known(name: str) -> Any:
    """Choose something of the stage."""
    values = STAGE[name]
    return CHANCE.choice(values) if isinstance(values, list) else values


def meanings(name: str, operation: str) -> str:
    """Say what a shared part of a path is for an operation."""
    if "Or" not in name:
        return name
    by_model = operation in {"listEntities", "createEntity"}
    one, other = name.split("Or", 1)
    other = other[0].lower() + other[1:]
    if name.startswith("format"):
        return one if operation in {"createEntities", "updateEntities"} else other
    return one if by_model else other


@schemathesis.hook
def before_call(context: Any, case: Any, kwargs: Any) -> None:
    """Put what is there in place of what was made up."""
    operation = case.operation.definition.raw["operationId"]
    if case.headers and CHANCE.random() < 0.75:
        # With a token that was made up, everything is unauthorized.
        case.headers.pop("X-Tx-Token", None)
    if operation in KEPT:
        return
    for name in list(case.path_parameters or {}):
        meaning = meanings(name, operation)
        if meaning in STAGE and CHANCE.random() < 0.75:
            case.path_parameters[name] = known(meaning)
    for name in list(case.query or {}):
        if name in STAGE and CHANCE.random() < 0.5:
            case.query[name] = known(name)
    if operation in STAGE["bodies"] and CHANCE.random() < 0.5:
        case.body = STAGE["bodies"][operation]


@schemathesis.check
def nothing_unexpected(context: Any, response: Any, case: Any) -> None:
    """A fault is ours, except what is documented as not there yet or not there now."""
    status = response.status_code
    assert status < 500 or status in {501, 503}, f"{status}: {response.text}"


@schemathesis.hook
def after_call(context: Any, case: Any, response: Any) -> None:
    """Leave out what is not described: searches of models that are called `async`."""
    if case.path == "/search/async/{jobId}" and "allow" in response.headers:
        allowed = response.headers["allow"]
        response.headers["allow"] = [value.replace(",POST", "") for value in allowed]
