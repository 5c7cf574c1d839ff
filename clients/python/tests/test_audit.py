"""What happened to an entity, and why."""

import uuid
from datetime import timedelta

import pytest
from definitions import (
    PARCEL,
    TAG,
    holds,
    make_model,
    processed_on_creation,
    processor,
    transition,
    workflow,
)

from interlock import (
    Audited,
    AuditedChange,
    AuditedStep,
    Client,
    Context,
    Entity,
    EntityNotFound,
    Executor,
    Member,
)
from interlock.operations import history

GUARDED = workflow(
    "NEW",
    NEW=[
        transition("ship", "SHIPPED", criterion=holds("$.quantity", "GREATER_THAN", 5)),
        transition("lose", "LOST", manual=True),
    ],
    SHIPPED=[],
    LOST=[],
)

CREATED = ["STATE_MACHINE_START", "WORKFLOW_FOUND"]


def kinds(trail: list[Audited]) -> list[str]:
    return [item.kind for item in reversed(trail)]


async def test_a_trail_tells_every_step(client: Client) -> None:
    await make_model(client, flow=GUARDED)
    written = await client.create(PARCEL, {"quantity": 1})
    await client.transition(written.entity_id, "lose")
    trail = [item async for item in client.audit(written.entity_id)]
    assert kinds(trail) == [
        *CREATED,
        "TRANSITION_NOT_MATCH_CRITERION",
        "STATE_MACHINE_FINISH",
        "CREATE",
        "STATE_MACHINE_START",
        "TRANSITION_MAKE",
        "STATE_MACHINE_FINISH",
        "UPDATE",
    ]
    assert {(item.entity_id, item.severity) for item in trail} == {(written.entity_id, "INFO")}
    times = [item.at for item in trail]
    assert times == sorted(times, reverse=True)
    move, refusal, change = trail[2], trail[6], trail[4]
    assert isinstance(move, AuditedStep)
    assert (move.state, move.data) == ("NEW", None)
    assert move.details == "transition lose moves the entity from NEW to LOST"
    assert isinstance(refusal, AuditedStep)
    assert refusal.data is not None
    assert (refusal.data["transition"], refusal.data["criterion"]) == ("ship", "simple")
    assert refusal.transaction_id == written.transaction_id
    assert isinstance(change, AuditedChange)
    assert (change.user, change.executor) == (
        "mock-user-001",
        Executor("mock-user-001", "user"),
    )


async def test_a_trail_says_who_did_it_for_whom(
    client: Client, target: str, tenant: dict[str, str]
) -> None:
    labels = []
    service = {"x-mock-user": "pricing", "x-mock-kind": "service", "x-mock-roles": "ROLE_M2M"}
    member = Member(target, tags=[TAG], metadata=tenant | service)

    @member.processor("price")
    async def price(_entity: Entity, context: Context) -> None:
        labels.append((await context.client.create(("label", 1), {"text": "x"})).entity_id)

    await make_model(client, flow=processed_on_creation(processor("price")))
    await make_model(client, ("label", 1), {"text": "x"})
    async with member, Client(target, metadata=tenant | {"x-mock-user": "anna"}) as anna:
        await anna.create(PARCEL, {})
    (change,) = [item async for item in client.audit(labels[0], event_types=["EntityChange"])]
    assert isinstance(change, AuditedChange)
    assert (change.user, change.executor) == ("anna", Executor("pricing", "service"))


async def test_a_trail_can_be_limited(client: Client) -> None:
    await make_model(client, flow=GUARDED)
    written = await client.create(PARCEL, {"quantity": 1})
    updated = await client.update(written.entity_id, {"quantity": 2})
    then = (await client.get(written.entity_id)).updated

    async def found(**limits: object) -> list[str]:
        trail = client.audit(written.entity_id, **limits)  # type: ignore[arg-type]
        return kinds([item async for item in trail])

    assert await found(event_types=["EntityChange"]) == ["CREATE", "UPDATE"]
    assert await found(event_types=["System"]) == []
    assert await found(severity="WARN") == []
    assert (await found(transaction_id=updated.transaction_id))[-1] == "UPDATE"
    assert len(await found(transaction_id=updated.transaction_id)) == 4
    assert await found(event_types=["EntityChange"], from_time=then) == ["UPDATE"]
    assert await found(event_types=["EntityChange"], to_time=then) == ["CREATE"]
    assert await found(from_time=then + timedelta(microseconds=1)) == []


async def test_a_trail_of_many_pages_is_one(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    await make_model(client, flow=GUARDED)
    written = await client.create(PARCEL, {"quantity": 1})
    for quantity in range(5):
        await client.update(written.entity_id, {"quantity": quantity})
    whole = [item async for item in client.audit(written.entity_id)]
    assert len(whole) == 25
    monkeypatch.setattr(history, "AUDIT_PAGE", 3)
    assert [item async for item in client.audit(written.entity_id)] == whole
    # What happens while it is read does not move the rest.
    read = []
    async for item in client.audit(written.entity_id):
        read.append(item)
        if len(read) % 5 == 0:
            await client.update(written.entity_id, {"quantity": 0})
    assert read == whole


async def test_the_end_of_a_run_can_be_read(client: Client) -> None:
    await make_model(client, flow=GUARDED)
    written = await client.create(PARCEL, {"quantity": 9})
    assert written.transaction_id is not None
    finished = await client.audit_finished(written.entity_id, written.transaction_id)
    assert (finished.kind, finished.state) == ("STATE_MACHINE_FINISH", "SHIPPED")
    assert finished.data == {"success": True}
    with pytest.raises(EntityNotFound):
        await client.audit_finished(written.entity_id, str(uuid.uuid1()))
    with pytest.raises(EntityNotFound):
        _ = [item async for item in client.audit(str(uuid.uuid1()))]
