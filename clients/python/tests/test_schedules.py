"""Functions that say when a transition is taken."""

import asyncio
from datetime import UTC, datetime, timedelta, timezone

import pytest
from definitions import PARCEL, make_model, scheduled_by, transition, workflow

from interlock import (
    AuditedStep,
    Client,
    Context,
    Entity,
    EntityNotFound,
    Member,
    Rejected,
    Schedule,
    Transition,
    WorkflowFailed,
)

SOON = timedelta(milliseconds=100)
LATER = timedelta(hours=1)


def lost_by(**config: object) -> dict[str, object]:
    """A workflow in which a parcel is lost in the end."""
    lose = transition("lose", "LOST", schedule=scheduled_by("patience", **config))
    return workflow("SENT", SENT=[lose], LOST=[])


async def until(client: Client, entity_id: str, state: str) -> Entity:
    """Wait until an entity is in a state."""
    async with asyncio.timeout(10):
        while True:
            entity = await client.get(entity_id)
            if entity.state == state:
                return entity
            await asyncio.sleep(0.01)


async def steps(client: Client, entity_id: str) -> list[AuditedStep]:
    """What was decided about timers, oldest first."""
    trail = [step async for step in client.audit(entity_id, event_types=["StateMachine"])]
    return [
        step
        for step in reversed(trail)
        if isinstance(step, AuditedStep) and step.kind.startswith("SCHEDULED_")
    ]


async def test_a_schedule_says_when_a_transition_is_taken(client: Client, member: Member) -> None:
    contexts: list[Context] = []

    @member.schedule("patience")
    async def patience(entity: Entity, context: Context) -> Schedule:
        contexts.append(context)
        assert (entity.state, entity.data) == ("SENT", {"quantity": 1})
        # In the transaction it is there, and outside, on the same stream, it is not yet.
        assert (await context.client.get(entity.id)).state == "SENT"
        with pytest.raises(EntityNotFound):
            await member.client.get(entity.id)
        return Schedule(fire_after=SOON, expire_after=LATER)

    await make_model(client, flow=lost_by(context="100 ms"))
    async with member:
        written = await client.create(PARCEL, {"quantity": 1})
        lost = await until(client, written.entity_id, "LOST")
    assert lost.last_transition == "lose"
    assert lost.updated - lost.created >= SOON
    (context,) = contexts
    assert (context.name, context.parameters, context.workflow) == ("patience", "100 ms", "flow")
    assert context.entity_id == written.entity_id
    assert context.transition == Transition("lose", state_from="SENT", state_to="LOST")
    assert context.transaction_id == written.transaction_id
    armed, fired = await steps(client, written.entity_id)
    assert (armed.kind, fired.kind) == ("SCHEDULED_TRANSITION_ARM", "SCHEDULED_TRANSITION_FIRE")


async def test_a_schedule_can_name_the_time(client: Client, member: Member) -> None:
    due = datetime(2099, 12, 31, 23, 59, 59, 500_001, tzinfo=timezone(timedelta(hours=2)))

    @member.schedule("patience")
    async def patience(_entity: Entity, _context: Context) -> Schedule:
        return Schedule(fire_at=due, expire_at=due + LATER)

    await make_model(client, flow=lost_by())
    async with member:
        written = await client.create(PARCEL, {})
    (armed,) = await steps(client, written.entity_id)
    assert armed.data is not None
    reported = datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=armed.data["scheduledTime"])
    # Never early: the next whole millisecond.
    assert reported == due + timedelta(microseconds=999)


async def test_a_time_that_is_past_is_now(client: Client, member: Member) -> None:
    @member.schedule("patience")
    async def patience(_entity: Entity, _context: Context) -> Schedule:
        return Schedule(fire_at=datetime(2020, 1, 1, tzinfo=UTC))

    await make_model(client, flow=lost_by())
    async with member:
        written = await client.create(PARCEL, {})
        await until(client, written.entity_id, "LOST")


async def test_a_schedule_that_expires_before_it_is_due_is_none(
    client: Client, member: Member
) -> None:
    @member.schedule("patience")
    async def patience(_entity: Entity, _context: Context) -> Schedule:
        return Schedule(fire_after=SOON, expire_at=datetime(2020, 1, 1, tzinfo=UTC))

    await make_model(client, flow=lost_by())
    async with member:
        written = await client.create(PARCEL, {})
    assert [step.kind for step in await steps(client, written.entity_id)] == [
        "SCHEDULED_TRANSITION_EXPIRE"
    ]
    assert (await client.get(written.entity_id)).state == "SENT"


async def test_a_schedule_that_raises_fails_the_write(client: Client, member: Member) -> None:
    @member.schedule("patience")
    async def patience(entity: Entity, _context: Context) -> Schedule:
        match entity.data["quantity"]:
            case 0:
                raise Rejected("nothing was sent")
            case 1:
                return Schedule()
            case _:
                return timedelta(days=1)  # type: ignore[return-value]

    await make_model(client, flow=lost_by())
    async with member:
        for quantity, message in enumerate(
            (
                r"patience.*: nothing was sent$",
                r"ValueError: a schedule needs either `fire_at` or `fire_after`$",
                r"a schedule returns a Schedule, not a timedelta$",
            )
        ):
            with pytest.raises(WorkflowFailed, match=message):
                await client.create(PARCEL, {"quantity": quantity})
    assert [one.count for one in await client.count(PARCEL)] == [0]


async def test_a_schedule_that_the_member_does_not_have_fails(
    client: Client, member: Member
) -> None:
    await make_model(client, flow=lost_by())
    async with member:
        with pytest.raises(WorkflowFailed, match="has no schedule `patience`"):
            await client.create(PARCEL, {})


async def test_a_schedule_may_do_without_the_entity(client: Client, member: Member) -> None:
    called = []

    @member.detached_schedule("patience")
    async def patience(context: Context) -> Schedule:
        called.append(context.entity_id)
        return Schedule(fire_after=LATER)

    await make_model(client, flow=lost_by(attachEntity=False))
    async with member:
        written = await client.create(PARCEL, {})
    assert called == [written.entity_id]


def test_a_schedule_that_makes_no_sense_cannot_be_made() -> None:
    aware, naive = datetime(2030, 1, 1, tzinfo=UTC), datetime(2030, 1, 1)
    for faulty in (
        {},
        {"expire_after": LATER},
        {"fire_at": aware, "fire_after": SOON},
        {"fire_at": aware, "expire_at": aware, "expire_after": SOON},
        {"fire_at": naive},
        {"fire_after": SOON, "expire_at": naive},
    ):
        with pytest.raises(ValueError, match=r"a schedule |no time zone"):
            Schedule(**faulty)


def test_a_schedule_is_reported_in_whole_milliseconds() -> None:
    aware = datetime(1970, 1, 1, 0, 0, 5, 1, tzinfo=UTC)
    relative = Schedule(fire_after=timedelta(microseconds=1), expire_after=timedelta())
    assert relative.payload() == {"fireAfterMs": 1, "expireAfterMs": 0}
    assert Schedule(fire_at=aware, expire_at=aware).payload() == {"fireAt": 5001, "expireAt": 5001}
