import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from definitions import (
    ALL,
    PARCEL,
    holds,
    make_model,
    processed_on_creation,
    processor,
    transition,
    workflow,
)

from interlock import (
    AccessError,
    BadRequest,
    Cancelled,
    Client,
    ComputeUnavailable,
    ConditionTypeMismatch,
    Conflict,
    ConnectionLost,
    Context,
    Entity,
    EntityNotFound,
    IncompatibleType,
    InterlockError,
    InvalidFieldPath,
    InvalidRequest,
    LimitError,
    Member,
    ModelAlreadyUnlocked,
    ModelHasEntities,
    ModelNotFound,
    ModelNotLocked,
    ModelStateError,
    NoComputeMember,
    NotFound,
    Rejected,
    TransitionNotFound,
    UnknownEventType,
    WorkflowFailed,
)
from interlock.api.codes import CODES
from interlock.errors import CLIENT_CODES, from_answer, with_code

NOWHERE = "00000000-0000-0000-0000-000000000000"
UNKNOWN = ("unknown", 1)

GUARDED = workflow(
    "NEW",
    NEW=[transition("go", "DONE", manual=True) | {"criterion": holds("$.quantity", "EQUALS", 7)}],
    DONE=[],
)


async def found(client: Client, condition: dict[str, Any]) -> list[Entity]:
    return [entity async for entity in client.search(PARCEL, condition)]


@pytest.mark.parametrize(
    ("kind", "base", "ask"),
    [
        (EntityNotFound, NotFound, lambda client: client.get(NOWHERE)),
        (EntityNotFound, NotFound, lambda client: client.get("no id at all")),
        (ModelNotFound, NotFound, lambda client: client.create(UNKNOWN, {})),
        (ModelNotFound, NotFound, lambda client: client.count(UNKNOWN)),
        (IncompatibleType, InvalidRequest, lambda client: client.create(PARCEL, {"sku": 5})),
        (BadRequest, InvalidRequest, lambda client: client.create(PARCEL, {"colour": "red"})),
        (BadRequest, InvalidRequest, lambda client: client.create_many([])),
        (BadRequest, InvalidRequest, lambda client: client.call("EntityGetRequest", {})),
        (BadRequest, InvalidRequest, lambda client: found(client, {"type": "guess"})),
        (
            InvalidFieldPath,
            InvalidRequest,
            lambda client: found(client, holds("$.no", "EQUALS", 1)),
        ),
        (
            ConditionTypeMismatch,
            InvalidRequest,
            lambda client: found(client, holds("$.quantity", "EQUALS", "many")),
        ),
        (UnknownEventType, InvalidRequest, lambda client: client.call("EntityGuessRequest", {})),
        (InvalidRequest, InterlockError, lambda client: client.import_workflows(PARCEL, [{}])),
        (ModelHasEntities, InterlockError, lambda client: client.unlock_model(PARCEL)),
    ],
)
async def test_a_failure_is_raised_as_its_own_kind(
    client: Client,
    kind: type[InterlockError],
    base: type[InterlockError],
    ask: Callable[[Client], Awaitable[Any]],
) -> None:
    await make_model(client)
    await client.create(PARCEL, {"sku": "A-2"})
    with pytest.raises(base) as caught:
        await ask(client)
    assert type(caught.value) is kind
    assert not caught.value.retryable


async def test_a_model_that_is_not_locked_takes_no_entities(client: Client) -> None:
    await client.import_model(PARCEL, {"sku": "A-1"})
    with pytest.raises(ModelNotLocked):
        await client.create(PARCEL, {})
    with pytest.raises(ModelAlreadyUnlocked):
        await client.unlock_model(PARCEL)


async def test_a_failure_tells_its_code_its_text_and_its_properties(client: Client) -> None:
    await make_model(client)
    with pytest.raises(EntityNotFound) as missing:
        await client.get(NOWHERE)
    assert missing.value.code == "ENTITY_NOT_FOUND"
    assert str(missing.value) == f"ENTITY_NOT_FOUND: {missing.value.message}"
    assert missing.value.properties["entityId"] == NOWHERE
    with pytest.raises(IncompatibleType) as mismatch:
        await client.create(PARCEL, {"quantity": "three"})
    assert mismatch.value.properties["fieldPath"] == "quantity"


async def test_a_guard_or_a_state_that_forbids_a_transition_says_so(client: Client) -> None:
    await make_model(client, flow=GUARDED)
    written = await client.create(PARCEL, {"quantity": 1})
    with pytest.raises(WorkflowFailed, match="criterion"):
        await client.transition(written.entity_id, "go")
    with pytest.raises(TransitionNotFound):
        await client.transition(written.entity_id, "come")
    assert (await client.get(written.entity_id)).state == "NEW"


async def test_a_failure_brings_the_warnings_until_then(client: Client, member: Member) -> None:
    @member.processor("price")
    async def price(_entity: Entity, context: Context) -> None:
        context.warn("prices are guesses")
        raise Rejected("no price")

    await make_model(client, flow=processed_on_creation(processor("price")))
    async with member:
        with pytest.raises(WorkflowFailed, match="no price") as caught:
            await client.create(PARCEL, {})
    assert caught.value.warnings == ("processor price: prices are guesses",)


async def test_a_call_that_nobody_serves_may_be_tried_again(client: Client) -> None:
    await make_model(client, flow=processed_on_creation(processor("price")))
    with pytest.raises(NoComputeMember) as caught:
        await client.create(PARCEL, {})
    assert caught.value.retryable
    assert await found(client, ALL) == []


async def test_whoever_commits_second_may_try_again(client: Client, member: Member) -> None:
    begun, may_end = asyncio.Event(), asyncio.Event()

    @member.processor("slow")
    async def slow(_entity: Entity, _context: Context) -> None:
        begun.set()
        await may_end.wait()

    flow = workflow("NEW", NEW=[transition("go", "DONE", processor("slow"), manual=True)], DONE=[])
    await make_model(client, flow=flow)
    written = await client.create(PARCEL, {"quantity": 1})
    async with member:
        second = asyncio.create_task(client.transition(written.entity_id, "go"))
        await begun.wait()
        await client.update(written.entity_id, {"quantity": 2})
        may_end.set()
        with pytest.raises(Conflict) as caught:
            await second
    assert caught.value.retryable
    assert (await client.get(written.entity_id)).state == "NEW"


def test_the_classes_and_remedies_are_those_of_all_clients() -> None:
    shared = json.loads((Path(__file__).parents[2] / "errors.json").read_text())
    names: dict[str, type[InterlockError]] = {
        "NotFound": NotFound,
        "Conflict": Conflict,
        "ModelState": ModelStateError,
        "InvalidRequest": InvalidRequest,
        "WorkflowFailed": WorkflowFailed,
        "ComputeUnavailable": ComputeUnavailable,
        "Access": AccessError,
        "Cancelled": Cancelled,
        "Limit": LimitError,
        "ConnectionLost": ConnectionLost,
    }
    assert list(names) == list(shared["classes"])
    classes = {code: names[name] for name, codes in shared["classes"].items() for code in codes}
    assert CLIENT_CODES.keys() <= shared["clientCodes"].keys()
    for code in CODES.keys() | CLIENT_CODES.keys():
        error = with_code(code, "")
        found = [kind for kind in names.values() if isinstance(error, kind)]
        assert found == ([classes[code]] if code in classes else []), code
        assert error.remedy == (
            CODES[code].meaning if code in CODES else shared["clientCodes"][code]
        )
    assert isinstance(with_code("SHELF_NOT_FOUND", ""), NotFound)


def test_a_code_without_a_class_is_an_error_all_the_same() -> None:
    error = from_answer({"message": "NEW_KIND: of trouble: indeed", "retryable": True})
    assert type(error) is InterlockError
    assert (error.code, error.message, error.retryable) == (
        "NEW_KIND",
        "of trouble: indeed",
        True,
    )


def test_a_failure_that_says_nothing_is_an_error_all_the_same() -> None:
    assert from_answer(None).code == "UNKNOWN"
    assert from_answer({"message": "no code"}).message == "no code"
