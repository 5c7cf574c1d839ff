import asyncio
import logging
import os
import signal
import sys
import uuid
from asyncio.subprocess import PIPE
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from definitions import (
    ALL,
    PARCEL,
    TAG,
    make_model,
    processed_on_creation,
    processor,
    transition,
    workflow,
)
from gates import Gate

from interlock import (
    Caller,
    Client,
    ComputeMemberDisconnected,
    Context,
    Entity,
    EntityNotFound,
    Forbidden,
    Member,
    NoComputeMember,
    Rejected,
    Retryable,
    TransactionNotFound,
    Transition,
    WorkflowFailed,
)

PRICED = processed_on_creation(processor("price"))
LABEL = ("label", 1)


async def test_what_a_processor_returns_replaces_the_document(
    client: Client, member: Member
) -> None:
    @member.processor("price")
    async def price(entity: Entity, _context: Context) -> dict[str, Any]:
        assert (entity.model, entity.state) == (PARCEL, "NEW")
        return {"quantity": entity.data["quantity"] + 1}

    @member.processor("look")
    async def look(entity: Entity, _context: Context) -> None:
        entity.data["quantity"] = 100

    flow = processed_on_creation(processor("price"), processor("look"), processor("price"))
    await make_model(client, flow=flow)
    async with member:
        written = await client.create(PARCEL, {"sku": "B-1", "quantity": 1})
    assert (await client.get(written.entity_id)).data == {"quantity": 3}


async def test_a_processor_knows_what_it_is_called_for(
    client: Client, member: Member, target: str, tenant: dict[str, str]
) -> None:
    contexts: list[Context] = []

    @member.processor("price")
    async def price(_entity: Entity, context: Context) -> None:
        contexts.append(context)
        context.warn("prices are guesses")

    flow = processed_on_creation(processor("price", context='{"currency": "EUR"}'))
    await make_model(client, flow=flow)
    caller = tenant | {"x-mock-user": "anna", "x-mock-roles": "ROLE_A,ROLE_B"}
    async with member, Client(target, metadata=caller) as anna:
        written = await anna.create(PARCEL, {})
    (context,) = contexts
    assert context.entity_id == written.entity_id
    assert (context.name, context.workflow) == ("price", "flow")
    assert context.parameters == '{"currency": "EUR"}'
    assert context.transition == Transition("process", state_from="NEW", state_to="DONE")
    assert context.transaction_id == written.transaction_id
    assert context.caller == Caller("user", "anna", ("ROLE_A", "ROLE_B"))
    assert context.dispatch_key
    assert written.warnings == ("processor price: prices are guesses",)


async def test_a_processor_that_raises_fails_the_transition(client: Client, member: Member) -> None:
    @member.processor("price")
    async def price(entity: Entity, _context: Context) -> Any:
        match entity.data["quantity"]:
            case 0:
                raise Rejected("nothing to price")
            case 1:
                return entity.data["colour"]
            case 2:
                return ["no", "document"]
            case _:
                return {"weight": object()}

    await make_model(client, flow=PRICED)
    async with member:
        for quantity, message in enumerate(
            (
                r"price.*: nothing to price$",
                r"KeyError: 'colour'$",
                r"the whole new document or None, not a list$",
                r"object has no JSON form",
            )
        ):
            with pytest.raises(WorkflowFailed, match=message):
                await client.create(PARCEL, {"quantity": quantity})
    assert [one.count for one in await client.count(PARCEL)] == [0]


async def test_a_processor_that_the_member_does_not_have_fails(
    client: Client, member: Member
) -> None:
    await make_model(client, flow=PRICED)
    async with member:
        with pytest.raises(WorkflowFailed, match="has no processor `price`"):
            await client.create(PARCEL, {})


async def test_a_call_is_tried_again_under_the_same_key(client: Client, member: Member) -> None:
    keys = []

    @member.processor("price")
    async def price(_entity: Entity, context: Context) -> None:
        keys.append(context.dispatch_key)
        if len(keys) == 1:
            raise Retryable("the price list is being written")

    await make_model(client, flow=processed_on_creation(processor("price", retryPolicy="FIXED")))
    async with member:
        await client.create(PARCEL, {})
    assert len(keys) == 2
    assert len(set(keys)) == 1


async def test_a_processor_may_do_without_the_entity(client: Client, member: Member) -> None:
    called = []

    @member.detached_processor("notify")
    async def notify(context: Context) -> None:
        called.append(context.entity_id)

    @member.processor("price")
    async def price(entity: Entity, _context: Context) -> dict[str, Any]:
        return dict(entity.data)

    flow = processed_on_creation(processor("notify", attachEntity=False))
    await make_model(client, flow=flow)
    async with member:
        written = await client.create(PARCEL, {"quantity": 1})
        assert called == [written.entity_id]
        flow = processed_on_creation(processor("price", attachEntity=False))
        await client.import_workflows(PARCEL, [flow])
        with pytest.raises(WorkflowFailed, match="does not attach the entity to `price`"):
            await client.create(PARCEL, {"quantity": 1})


async def test_what_a_processor_writes_is_committed_with_its_transaction(
    client: Client, member: Member
) -> None:
    labels = []

    @member.processor("price")
    async def price(_entity: Entity, context: Context) -> None:
        joined = context.client
        written = await joined.create(LABEL, {"text": "first"})
        assert written.transaction_id == context.transaction_id
        labels.append(written.entity_id)
        await joined.update(written.entity_id, {"text": "second"})
        # In the transaction what it wrote is there, by id and by search …
        assert (await joined.get(written.entity_id)).data == {"text": "second"}
        found = [entity.id async for entity in joined.search(LABEL, ALL)]
        assert found == [written.entity_id]
        # … and outside, on the same stream, it is not.
        with pytest.raises(EntityNotFound):
            await member.client.get(written.entity_id)

    await make_model(client, flow=PRICED)
    await make_model(client, LABEL, {"text": "x"})
    async with member:
        written = await client.create(PARCEL, {})
    (label,) = labels
    entity = await client.get(label)
    assert entity.data == {"text": "second"}
    assert entity.transaction_id == written.transaction_id


async def test_what_a_processor_writes_is_rolled_back_with_its_transaction(
    client: Client, member: Member
) -> None:
    contexts: list[Context] = []

    @member.processor("price")
    async def price(_entity: Entity, context: Context) -> None:
        contexts.append(context)
        await context.client.create_many([(LABEL, {"text": "in"})] * 3)
        await member.client.create(LABEL, {"text": "out"})
        raise Rejected("no")

    await make_model(client, flow=PRICED)
    await make_model(client, LABEL, {"text": "x"})
    async with member:
        with pytest.raises(WorkflowFailed):
            await client.create(PARCEL, {})
        left = [entity.data["text"] async for entity in client.search(LABEL, ALL)]
        assert left == ["out"]
        assert [one.count for one in await client.count(PARCEL)] == [0]
        with pytest.raises(TransactionNotFound):
            await contexts[0].client.get(contexts[0].entity_id)


async def test_a_failure_of_a_callback_can_be_caught(client: Client, member: Member) -> None:
    @member.processor("price")
    async def price(entity: Entity, context: Context) -> dict[str, Any]:
        with pytest.raises(EntityNotFound):
            await context.client.get(str(uuid.uuid4()))
        return entity.data | {"sku": "found out"}

    await make_model(client, flow=PRICED)
    async with member:
        written = await client.create(PARCEL, {"quantity": 1})
    assert (await client.get(written.entity_id)).data["sku"] == "found out"


async def test_a_member_with_one_place_runs_what_its_processor_causes(
    client: Client, target: str, tenant: dict[str, str]
) -> None:
    member = Member(target, tags=[TAG], metadata=tenant, concurrency=1)

    @member.processor("price")
    async def price(entity: Entity, context: Context) -> dict[str, Any]:
        depth = entity.data["quantity"]
        if depth > 0:
            await context.client.create(PARCEL, {"quantity": depth - 1})
        return {"quantity": depth + 10}

    await make_model(client, flow=PRICED)
    async with member:
        await client.create(PARCEL, {"quantity": 3})
    quantities = [entity.data["quantity"] async for entity in client.search(PARCEL, ALL)]
    assert sorted(quantities) == [10, 11, 12, 13]


async def test_more_calls_than_places_wait(
    client: Client, target: str, tenant: dict[str, str]
) -> None:
    member = Member(target, tags=[TAG], metadata=tenant, concurrency=2)
    gate = Gate(member)
    await make_model(client, flow=PRICED)
    async with member:
        creating = [asyncio.create_task(client.create(PARCEL, {})) for _ in range(6)]
        await gate.until(in_work=2)
        gate.may_end.set()
        await asyncio.gather(*creating)
    assert gate.most_in_work == 2
    assert len(gate.contexts) == 6


async def test_members_of_two_tenants_do_not_see_each_others_work(target: str) -> None:
    seen: dict[str, list[str]] = {"left": [], "right": []}

    def made(tenant: str) -> Member:
        member = Member(target, tags=[TAG], metadata={"x-mock-tenant": tenant + uuid.uuid4().hex})

        @member.processor("price")
        async def price(_entity: Entity, context: Context) -> None:
            seen[tenant].append(context.entity_id)

        return member

    left, right = made("left"), made("right")
    async with left:
        async with right:
            await make_model(left.client, flow=PRICED)
            await make_model(right.client, flow=PRICED)
            ours = [(await left.client.create(PARCEL, {})).entity_id for _ in range(5)]
            theirs = [(await right.client.create(PARCEL, {})).entity_id for _ in range(5)]
            assert seen == {"left": ours, "right": theirs}
            with pytest.raises(EntityNotFound):
                await right.client.get(ours[0])
        async with Client(target, metadata={"x-mock-tenant": "nobody"}) as nobody:
            await make_model(nobody, flow=PRICED)
            with pytest.raises(NoComputeMember):
                await nobody.create(PARCEL, {})


async def test_a_member_is_chosen_by_its_tags(
    client: Client, target: str, tenant: dict[str, str]
) -> None:
    called = []

    def made(*tags: str) -> Member:
        member = Member(target, tags=tags, metadata=tenant)

        @member.processor("price")
        async def price(_entity: Entity, _context: Context) -> None:
            called.append(tags)

        return member

    flow = processed_on_creation(processor("price", calculationNodesTags="a,b"))
    await make_model(client, flow=flow)
    async with made("a"), made("a", "b"), made("b"):
        for _ in range(4):
            await client.create(PARCEL, {})
    assert called == [("a", "b")] * 4


async def test_a_member_that_stops_finishes_what_is_in_work(
    client: Client, member: Member, gate: Gate
) -> None:
    in_work = asyncio.create_task(client.create(PARCEL, {}))
    await gate.until(in_work=1)
    stopping = asyncio.create_task(member.stop())
    # What comes now is not begun: the server chooses no member, or this one refuses.
    too_late = asyncio.create_task(client.create(PARCEL, {}))
    await client.list_models()
    assert not stopping.done()
    gate.may_end.set()
    assert (await client.get((await in_work).entity_id)).state == "DONE"
    with pytest.raises((ComputeMemberDisconnected, NoComputeMember, WorkflowFailed)) as caught:
        await too_late
    assert caught.value.retryable or "the member is stopping" in caught.value.message
    await stopping
    assert len(gate.contexts) == 1


async def test_what_work_causes_is_still_done_while_a_member_stops(
    client: Client, member: Member
) -> None:
    begun, may_go_on = asyncio.Event(), asyncio.Event()

    @member.processor("price")
    async def price(entity: Entity, context: Context) -> None:
        if entity.data["quantity"] == 1:
            begun.set()
            await may_go_on.wait()
            await context.client.create(PARCEL, {"quantity": 0})

    await make_model(client, flow=PRICED)
    async with member:
        creating = asyncio.create_task(client.create(PARCEL, {"quantity": 1}))
        await begun.wait()
        stopping = asyncio.create_task(member.stop())
        await client.list_models()
        may_go_on.set()
        await creating
        await stopping
    assert [one.count for one in await client.count(PARCEL)] == [2]


async def test_a_processor_that_does_not_end_is_left_behind(
    client: Client, member: Member, gate: Gate
) -> None:
    creating = asyncio.create_task(client.create(PARCEL, {}))
    await gate.until(in_work=1)
    await member.stop(timeout=0.1)
    await gate.until(in_work=0)
    with pytest.raises(ComputeMemberDisconnected):
        await creating


async def test_a_member_stops_when_its_process_is_asked_to(client: Client, member: Member) -> None:
    gate = Gate(member)
    await make_model(client, flow=PRICED)
    running = asyncio.create_task(member.run())
    # Whatever is asked on the stream waits until the member has joined.
    await member.client.list_models()
    creating = asyncio.create_task(client.create(PARCEL, {}))
    await gate.until(in_work=1)
    os.kill(os.getpid(), signal.SIGTERM)
    await client.list_models()
    assert not running.done()
    gate.may_end.set()
    assert (await creating).entity_ids
    await running


HANGING = """
import asyncio, sys
from interlock import Context, Entity, Member

member = Member(sys.argv[1], tags=[sys.argv[2]], metadata={"x-mock-tenant": sys.argv[3]})


@member.processor("price")
async def price(entity: Entity, context: Context) -> None:
    print("begun", flush=True)
    await asyncio.Event().wait()


async def main() -> None:
    running = asyncio.create_task(member.run())
    await member.client.list_models()
    print("joined", flush=True)
    await member._stopping.wait()
    print("stopping", flush=True)
    await running


asyncio.run(main())
"""


@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGINT])
async def test_a_second_signal_ends_the_process_at_once(
    client: Client, target: str, tenant: dict[str, str], second: signal.Signals
) -> None:
    await make_model(client, flow=PRICED)
    arguments = ("-c", HANGING, target, TAG, tenant["x-mock-tenant"])
    program = await asyncio.create_subprocess_exec(sys.executable, *arguments, stdout=PIPE)
    assert program.stdout is not None
    async with asyncio.timeout(20):
        assert await program.stdout.readline() == b"joined\n"
        creating = asyncio.create_task(client.create(PARCEL, {}))
        assert await program.stdout.readline() == b"begun\n"
        program.send_signal(signal.SIGTERM)
        assert await program.stdout.readline() == b"stopping\n"
        program.send_signal(second)
        assert await program.wait() == -second
    with pytest.raises(ComputeMemberDisconnected):
        await creating


async def test_a_call_that_the_server_has_given_up_is_ended_and_another_gets_its_place(
    client: Client, target: str, tenant: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="interlock")
    member = Member(target, tags=[TAG], metadata=tenant, concurrency=1)
    gate = Gate(member)
    limits = {"hangs": 3_000, "waits": 100, "goes": 30_000}
    moves = (
        transition(name, name, processor("price", responseTimeoutMs=limit), manual=True)
        for name, limit in limits.items()
    )
    flow = workflow("NEW", NEW=list(moves), **{name: [] for name in limits})
    await make_model(client, flow=flow)
    hangs, waits, goes = [(await client.create(PARCEL, {})).entity_id for _ in limits]
    async with member:
        hanging = asyncio.create_task(client.transition(hangs, "hangs"))
        await gate.until(in_work=1)
        with pytest.raises(WorkflowFailed, match="DISPATCH_TIMEOUT"):
            await client.transition(waits, "waits")
        going = asyncio.create_task(client.transition(goes, "goes"))
        with pytest.raises(WorkflowFailed, match="DISPATCH_TIMEOUT"):
            await hanging
        while len(gate.contexts) < 2:
            await client.list_models()
        gate.may_end.set()
        await going
    assert [context.entity_id for context in gate.contexts] == [hangs, goes]
    assert {record.message for record in caplog.records if "its time" in record.message} == {
        "processor price was cancelled: its time was up",
        "processor price was not begun: its time was up",
    }
    first, second = (context.deadline for context in gate.contexts)
    assert first is not None
    assert second is not None
    assert first < second <= datetime.now(UTC) + timedelta(seconds=30)


async def test_a_member_that_may_not_join_says_so(target: str) -> None:
    nobody = {"x-mock-roles": "ROLE_NOBODY"}
    with pytest.raises(Forbidden, match="ROLE_M2M"):
        await Member(target, metadata=nobody).run()
    with pytest.raises(Forbidden, match="ROLE_M2M"):
        async with Member(target, metadata=nobody):
            pass


async def test_a_manual_transition_runs_its_processors(client: Client, member: Member) -> None:
    @member.processor("price")
    async def price(entity: Entity, _context: Context) -> dict[str, Any]:
        return entity.data | {"quantity": 5}

    flow = workflow("NEW", NEW=[transition("go", "DONE", processor("price"), manual=True)], DONE=[])
    await make_model(client, flow=flow)
    written = await client.create(PARCEL, {"quantity": 1})
    async with member:
        await client.transition(written.entity_id, "go")
    entity = await client.get(written.entity_id)
    assert (entity.state, entity.data) == ("DONE", {"quantity": 5})
