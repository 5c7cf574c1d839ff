import asyncio
from decimal import Decimal
from typing import Any

import pytest
from definitions import ALL, PARCEL, TAG, make_model, processed_on_creation, processor
from gates import Gate
from scripts import Side, scripted
from servers import server

import interlock.ahead
import interlock.stream
from interlock import (
    AnswerNotRead,
    BadRequest,
    Client,
    ClientClosed,
    ConnectionLost,
    Context,
    Entity,
    EntityNotFound,
    Forbidden,
    Member,
    MessageTooLarge,
    Operations,
    WorkflowFailed,
)
from interlock.api.cloudevents_pb2 import CloudEvent

PRICED = processed_on_creation(processor("price"))
LABEL = ("label", 1)


async def test_two_hundred_requests_on_a_stream_that_also_serves_calls_are_distinguished(
    member: Member,
) -> None:
    @member.processor("price")
    async def price(entity: Entity, _context: Context) -> dict[str, Any]:
        if entity.data["quantity"] % 2:
            raise ValueError(f"{entity.data['quantity']} is odd")
        return entity.data | {"weight": Decimal(entity.data["quantity"]) / 4}

    async with member:
        client = member.client
        await make_model(client, flow=PRICED)
        await make_model(client, ("label", 1), {"text": "x"})
        labels = await client.create_many([(("label", 1), {"text": str(n)}) for n in range(40)])

        async def created(number: int) -> None:
            written = await client.create(PARCEL, {"quantity": 2 * number})
            entity = await client.get(written.entity_id)
            assert (entity.state, entity.data["weight"]) == ("DONE", Decimal(number) / 2)

        async def refused(number: int) -> None:
            with pytest.raises(WorkflowFailed, match=rf"ValueError: {2 * number + 1} is odd"):
                await client.create(PARCEL, {"quantity": 2 * number + 1})

        async def read(number: int) -> None:
            label = labels.entity_ids[number]
            assert (await client.get(label)).data == {"text": str(number)}

        async def listed(number: int) -> None:
            page = client.list_entities(("label", 1), page_size=number + 1)
            assert [entity.id async for entity in page] == list(labels.entity_ids[: number + 1])

        async def failed(number: int) -> None:
            with pytest.raises(EntityNotFound) as missing:
                await client.get(f"nobody-{number}")
            assert missing.value.properties["entityId"] == f"nobody-{number}"
            with pytest.raises(BadRequest):
                _ = [one async for one in client.search(PARCEL, {"type": str(number)})]

        kinds = (created, refused, read, listed, failed)
        async with asyncio.TaskGroup() as group:
            for number in range(40):
                for kind in kinds:
                    group.create_task(kind(number))
        assert [one.count for one in await client.count(PARCEL)] == [40]


async def test_answers_come_as_they_are_ready(member: Member) -> None:
    may_end = asyncio.Event()

    @member.processor("price")
    async def price(_entity: Entity, _context: Context) -> None:
        await may_end.wait()

    async with member:
        await make_model(member.client, flow=PRICED)
        first = asyncio.create_task(member.client.create(PARCEL, {}))
        await member.client.list_models()
        assert not first.done()
        may_end.set()
        await first


async def test_a_cancelled_request_leaves_no_trace(
    target: str, tenant: dict[str, str], gate: Gate
) -> None:
    async with Client(target, metadata=tenant, in_flight=1) as client:
        creating = asyncio.create_task(client.create(PARCEL, {}))
        await gate.until(in_work=1)
        creating.cancel()
        with pytest.raises(asyncio.CancelledError):
            await creating
        # With one request in flight, this one is sent once the server has answered that one.
        assert [one.count for one in await client.count(PARCEL)] == [0]


async def test_leaving_a_streamed_answer_early_makes_room_for_others(
    target: str, tenant: dict[str, str]
) -> None:
    async with Client(target, metadata=tenant, in_flight=1) as client:
        await make_model(client)
        await client.create_many([(PARCEL, {"quantity": n}) for n in range(500)])
        for _ in range(3):
            async for entity in client.search(PARCEL, ALL):
                assert entity.model == PARCEL
                break
        assert [one.count for one in await client.count(PARCEL)] == [500]


async def test_no_more_requests_are_in_flight_than_allowed(
    target: str, tenant: dict[str, str], gate: Gate
) -> None:
    async with Client(target, metadata=tenant, in_flight=3) as client:
        creating = [asyncio.create_task(client.create(PARCEL, {})) for _ in range(10)]
        await gate.until(in_work=3)
        gate.may_end.set()
        await asyncio.gather(*creating)
    assert len(gate.contexts) == 10


async def test_a_request_that_is_too_large_does_not_end_the_stream(
    target: str, tenant: dict[str, str]
) -> None:
    async with Client(target, metadata=tenant, message_bytes_max=10_000) as client:
        with pytest.raises(MessageTooLarge, match="10000 are allowed"):
            await client.import_model(PARCEL, {"sku": "x" * 10_000})
        with pytest.raises(MessageTooLarge, match="10000 are allowed"):
            await anext(client.search(PARCEL, ALL | {"conditions": [ALL] * 200}))
        assert await client.list_models() == []


async def make_a_megabyte(client: Operations) -> None:
    await make_model(client)
    await client.create_many([(PARCEL, {"sku": "x" * 10_000})] * 100)


async def test_a_loop_over_a_search_may_send_requests_however_much_is_unread(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interlock.stream, "UNREAD_BYTES_MAX", 50_000)
    monkeypatch.setattr(interlock.stream, "STALL_SECONDS", 0.1)
    await make_a_megabyte(client)
    read = [(await client.get(found.id)).id async for found in client.search(PARCEL, ALL)]
    assert len(read) == 100
    assert read == sorted(read)


async def test_a_search_is_read_ahead_of_a_slow_loop_as_far_as_there_is_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sent = 0
    settled = asyncio.Condition()

    async def answers(_request: CloudEvent, server: Side) -> None:
        nonlocal sent
        for number in range(20):
            await server.write("EntityStatsResponse", {"count": number, "text": "x" * 1_000_000})
            async with settled:
                sent += 1
                settled.notify_all()

    async with scripted(answers=answers) as target, Client(target) as client:
        counts = client.stream("EntityStatsGetRequest", {})
        assert (await anext(counts))["count"] == 0
        async with settled, asyncio.timeout(20):
            # Far more than flow control alone lets a server send.
            await settled.wait_for(lambda: sent == 20)
        monkeypatch.setattr(interlock.ahead, "UNREAD_BYTES_MAX", 0)
        # With no room left an answer in the loop over another one still comes.
        inner = [item["count"] async for item in client.stream("EntityStatsGetRequest", {})]
        assert inner == list(range(20))
        assert [item["count"] async for item in counts] == list(range(1, 20))


async def test_closing_a_client_ends_its_searches(
    target: str, tenant: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interlock.ahead, "UNREAD_BYTES_MAX", 50_000)
    async with Client(target, metadata=tenant) as client:
        await make_a_megabyte(client)
        unread = client.search(PARCEL, ALL)
        await anext(unread)
    with pytest.raises(ClientClosed):
        _ = [entity async for entity in unread]


async def test_an_answer_that_is_read_slowly_in_a_transaction_comes_whole(
    member: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interlock.stream, "UNREAD_BYTES_MAX", 50_000)
    read: list[str] = []

    @member.processor("price")
    async def price(_entity: Entity, context: Context) -> None:
        page = context.client.list_entities(PARCEL, page_size=100)
        read.extend([entity.id async for entity in page])

    async with member:
        await make_a_megabyte(member.client)
        await make_model(member.client, LABEL, {"text": "x"}, flow=PRICED)
        await member.client.create(LABEL, {"text": "x"})
    assert len(read) == 100


async def test_an_answer_that_nobody_reads_in_a_transaction_is_given_up_for_the_others(
    member: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interlock.stream, "UNREAD_BYTES_MAX", 50_000)
    monkeypatch.setattr(interlock.stream, "STALL_SECONDS", 0.1)

    @member.processor("price")
    async def price(_entity: Entity, context: Context) -> None:
        unread = context.client.list_entities(PARCEL, page_size=100)
        first = await anext(unread)
        # Its answer is behind a hundred others that nobody takes.
        await context.client.get(first.id)
        with pytest.raises(AnswerNotRead):
            await anext(unread)

    async with member:
        await make_a_megabyte(member.client)
        await make_model(member.client, LABEL, {"text": "x"}, flow=PRICED)
        await member.client.create(LABEL, {"text": "x"})


async def test_a_client_goes_on_when_the_server_comes_back(tmp_path: Any) -> None:
    database = str(tmp_path / "interlock.db")
    async with server(CYODA_STORAGE_BACKEND="sqlite", CYODA_SQLITE_PATH=database) as running:
        member = Member(running.target, tags=[TAG])
        gate = Gate(member)
        async with member, Client(running.target, in_flight=1) as client:
            await make_model(client, flow=PRICED)
            lost = asyncio.create_task(client.create(PARCEL, {}))
            unsent = asyncio.create_task(client.list_models())
            await gate.until(in_work=1)
            await running.kill()
            with pytest.raises(ConnectionLost) as caught:
                await lost
            assert not caught.value.retryable
            with pytest.raises(ConnectionLost) as caught:
                await unsent
            assert caught.value.retryable
            # The transaction is gone, and with it the reason to go on.
            await gate.until(in_work=0)

            waiting = asyncio.create_task(client.list_models())
            await running.start()
            assert [model.key for model in await waiting] == [PARCEL]
            # Whatever is asked on its stream waits until the member has joined again.
            await member.client.list_models()
            creating = asyncio.create_task(client.create(PARCEL, {}))
            await gate.until(in_work=1)
            gate.may_end.set()
            await creating


async def test_a_server_that_stops_answers_what_is_in_work() -> None:
    async with server() as running:
        member = Member(running.target, tags=[TAG])
        gate = Gate(member)
        async with member, Client(running.target) as client:
            await make_model(client, flow=PRICED)
            creating = asyncio.create_task(client.create(PARCEL, {}))
            await gate.until(in_work=1)
            stopping = asyncio.create_task(running.stop())
            await running.says("stopping")
            gate.may_end.set()
            assert (await creating).entity_ids
            await stopping


async def test_a_server_that_is_not_there_is_reported_soon() -> None:
    client = Client("127.0.0.1:1", connect_timeout=0.3)
    with pytest.raises(ConnectionLost, match=r"no answer from 127\.0\.0\.1:1") as caught:
        async with client:
            pass
    assert caught.value.retryable
    with pytest.raises(ConnectionLost):
        await client.list_models()
    await client.close()
    with pytest.raises(ConnectionLost, match="closed"):
        await client.list_models()


async def test_metadata_can_be_made_anew_for_every_stream(target: str) -> None:
    made = 0

    async def metadata() -> dict[str, str]:
        nonlocal made
        made += 1
        return {"x-mock-tenant": "metadata", "x-mock-roles": "ROLE_NOBODY"}

    member = Member(target, metadata=metadata)
    for attempt in (1, 2):
        with pytest.raises(Forbidden, match="ROLE_M2M"):
            await member.client.list_models()
        assert made == attempt
    await member.stop()
