"""Criteria that a member decides."""

import pytest
from definitions import ALL, PARCEL, asks, holds, make_model, transition, workflow

from interlock import (
    AuditedStep,
    Client,
    Context,
    Entity,
    EntityNotFound,
    Member,
    No,
    Rejected,
    Retryable,
    Transition,
    WorkflowFailed,
)

IF_LIGHT = workflow("NEW", NEW=[transition("ship", "SHIPPED", criterion=asks("light"))], SHIPPED=[])
IF_LIGHT_WHEN_ASKED = workflow(
    "NEW", NEW=[transition("ship", "SHIPPED", manual=True, criterion=asks("light"))], SHIPPED=[]
)


async def reasons(client: Client, entity_id: str) -> list[str]:
    """Why criteria did not hold."""
    trail = client.audit(entity_id, event_types=["StateMachine"])
    steps = [step.data async for step in trail if isinstance(step, AuditedStep)]
    return [data["reason"] for data in steps if data is not None and "reason" in data]


async def test_a_criterion_says_whether_a_transition_is_taken(
    client: Client, member: Member
) -> None:
    @member.criterion("light")
    async def light(entity: Entity, _context: Context) -> bool:
        assert (entity.model, entity.state) == (PARCEL, "NEW")
        return bool(entity.data["weight"] < 20)

    await make_model(client, flow=IF_LIGHT)
    async with member:
        written = await client.create_many([(PARCEL, {"weight": weight}) for weight in (5, 50)])
    states = [(await client.get(identifier)).state for identifier in written.entity_ids]
    assert states == ["SHIPPED", "NEW"]
    assert await reasons(client, written.entity_ids[1]) == ["criterion did not match"]


async def test_a_criterion_says_why_it_does_not_hold(client: Client, member: Member) -> None:
    @member.criterion("light")
    async def light(entity: Entity, _context: Context) -> bool | No:
        return entity.data["weight"] < 20 or No(f"{entity.data['weight']} kg are too many")

    await make_model(client, flow=IF_LIGHT)
    async with member:
        written = await client.create(PARCEL, {"weight": 50})
        assert await reasons(client, written.entity_id) == ["50 kg are too many"]
        await client.import_workflows(PARCEL, [IF_LIGHT_WHEN_ASKED])
        with pytest.raises(WorkflowFailed, match="50 kg are too many"):
            await client.transition(written.entity_id, "ship")


async def test_a_criterion_that_raises_decides_nothing(client: Client, member: Member) -> None:
    @member.criterion("light")
    async def light(entity: Entity, _context: Context) -> bool | No:
        match entity.data["quantity"]:
            case 0:
                raise Rejected("there is nothing to weigh")
            case 1:
                return bool(entity.data["mass"] < 20)
            case _:
                return None  # type: ignore[return-value]

    await make_model(client, flow=IF_LIGHT)
    async with member:
        for quantity, message in enumerate(
            (
                r"light.*: there is nothing to weigh$",
                r"KeyError: 'mass'$",
                r"a criterion returns True, False or a No, not a NoneType$",
            )
        ):
            with pytest.raises(WorkflowFailed, match=message):
                await client.create(PARCEL, {"quantity": quantity})
    assert [one.count for one in await client.count(PARCEL)] == [0]


async def test_a_criterion_that_the_member_does_not_have_fails(
    client: Client, member: Member
) -> None:
    await make_model(client, flow=IF_LIGHT)
    async with member:
        with pytest.raises(WorkflowFailed, match="has no criterion `light`"):
            await client.create(PARCEL, {})


async def test_a_criterion_is_tried_again_under_the_same_key(
    client: Client, member: Member
) -> None:
    keys = []

    @member.criterion("light")
    async def light(_entity: Entity, context: Context) -> bool:
        keys.append(context.dispatch_key)
        if len(keys) == 1:
            raise Retryable("the scales are in use")
        return True

    asked = asks("light", retryPolicy="FIXED")
    flow = workflow("NEW", NEW=[transition("ship", "SHIPPED", criterion=asked)], SHIPPED=[])
    await make_model(client, flow=flow)
    async with member:
        written = await client.create(PARCEL, {})
    assert (await client.get(written.entity_id)).state == "SHIPPED"
    assert len(keys) == 2
    assert len(set(keys)) == 1


async def test_a_criterion_knows_what_it_is_called_for(client: Client, member: Member) -> None:
    contexts: list[Context] = []

    @member.criterion("light")
    async def light(_entity: Entity, context: Context) -> bool:
        contexts.append(context)
        context.warn("the scales are old")
        return True

    asked = asks("light", context="kg")
    flow = workflow("NEW", NEW=[transition("ship", "SHIPPED", criterion=asked)], SHIPPED=[])
    await make_model(client, flow=flow)
    async with member:
        written = await client.create(PARCEL, {})
    (context,) = contexts
    assert (context.name, context.parameters, context.workflow) == ("light", "kg", "flow")
    assert context.entity_id == written.entity_id
    assert context.transition == Transition("ship", state_from="NEW", state_to="SHIPPED")
    assert context.transaction_id == written.transaction_id
    assert context.caller.kind == "user"
    (warning,) = written.warnings
    assert warning.endswith(" light: the scales are old")


async def test_a_criterion_reads_in_the_transaction(client: Client, member: Member) -> None:
    @member.criterion("light")
    async def light(entity: Entity, context: Context) -> bool:
        # What the request has written so far is there …
        found = [one.data["sku"] async for one in context.client.search(PARCEL, ALL)]
        assert "first" in found
        # … and outside, on the same stream, it is not.
        with pytest.raises(EntityNotFound):
            await member.client.get(entity.id)
        return bool(entity.data["sku"] != "first")

    await make_model(client, flow=IF_LIGHT)
    async with member:
        written = await client.create_many([(PARCEL, {"sku": sku}) for sku in ("first", "second")])
    states = [(await client.get(identifier)).state for identifier in written.entity_ids]
    assert states == ["NEW", "SHIPPED"]


async def test_a_criterion_may_do_without_the_entity(client: Client, member: Member) -> None:
    called = []

    @member.detached_criterion("open")
    async def is_open(context: Context) -> bool:
        called.append(context.entity_id)
        return True

    @member.criterion("light")
    async def light(_entity: Entity, _context: Context) -> bool:
        return True

    def flow(name: str) -> dict[str, object]:
        asked = asks(name, attachEntity=False)
        return workflow("NEW", NEW=[transition("ship", "SHIPPED", criterion=asked)], SHIPPED=[])

    await make_model(client, flow=flow("open"))
    async with member:
        written = await client.create(PARCEL, {})
        assert called == [written.entity_id]
        await client.import_workflows(PARCEL, [flow("light")])
        with pytest.raises(WorkflowFailed, match="does not attach the entity to `light`"):
            await client.create(PARCEL, {})


async def test_a_criterion_among_others_is_asked_only_if_it_matters(
    client: Client, member: Member
) -> None:
    asked = []

    @member.criterion("light")
    async def light(entity: Entity, _context: Context) -> bool:
        asked.append(entity.data["quantity"])
        return True

    conditions = [holds("$.quantity", "LESS_THAN", 10), asks("light")]
    group = {"type": "group", "operator": "AND", "conditions": conditions}
    flow = workflow("NEW", NEW=[transition("ship", "SHIPPED", criterion=group)], SHIPPED=[])
    await make_model(client, flow=flow)
    async with member:
        await client.create_many([(PARCEL, {"quantity": quantity}) for quantity in (5, 50)])
    assert asked == [5]


async def test_a_criterion_chooses_the_workflow(client: Client, member: Member) -> None:
    contexts: list[Context] = []

    @member.criterion("light")
    async def light(entity: Entity, context: Context) -> bool:
        contexts.append(context)
        assert entity.state == ""
        return bool(entity.data["weight"] < 20)

    letter = workflow("LETTER", LETTER=[]) | {"name": "letter", "criterion": asks("light")}
    crate = workflow("CRATE", CRATE=[]) | {"name": "crate"}
    await make_model(client)
    await client.import_workflows(PARCEL, [letter, crate])
    async with member:
        written = await client.create_many([(PARCEL, {"weight": weight}) for weight in (5, 50)])
    states = [(await client.get(identifier)).state for identifier in written.entity_ids]
    assert states == ["LETTER", "CRATE"]
    assert contexts[0].workflow == "letter"
    assert contexts[0].transition == Transition("", state_from="", state_to="")


async def test_criteria_and_processors_of_one_name_are_two(client: Client, member: Member) -> None:
    @member.criterion("light")
    async def light(_entity: Entity, _context: Context) -> bool:
        return True

    @member.processor("light")
    async def lighten(entity: Entity, _context: Context) -> dict[str, object]:
        return entity.data | {"weight": 1}

    process = {"name": "light", "type": "externalized", "executionMode": "SYNC", "config": {}}
    way = transition("ship", "SHIPPED", process, criterion=asks("light"))
    await make_model(client, flow=workflow("NEW", NEW=[way], SHIPPED=[]))
    async with member:
        written = await client.create(PARCEL, {"weight": 9})
    assert (await client.get(written.entity_id)).data == {"weight": 1}


def test_a_no_is_false() -> None:
    assert not No("because")
