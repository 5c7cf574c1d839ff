import asyncio
import contextlib
from contextlib import aclosing
from pathlib import Path

import pytest
from definitions import PARCEL, SAMPLE, make_model, transition, workflow
from servers import server

from interlock import (
    BadRequest,
    Client,
    ClientClosed,
    ConnectionLost,
    FeedChange,
    ModelNotFound,
)

FLOW = workflow("PACKED", PACKED=[transition("ship", "SHIPPED", manual=True)], SHIPPED=[])


async def test_changes_come_in_order_with_what_was_asked_for(client: Client) -> None:
    await make_model(client, flow=FLOW)
    written = await client.create(PARCEL, SAMPLE)
    (parcel,) = written.entity_ids
    await client.transition(parcel, "ship")
    await client.delete(parcel)
    async with aclosing(client.subscribe_changes(from_sequence=0, include_data=True)) as feed:
        made, shipped, deleted = [await anext(feed) for _ in range(3)]
    assert [made.kind, shipped.kind, deleted.kind] == ["CREATE", "UPDATE", "DELETE"]
    assert (made.entity_id, made.model, made.state) == (parcel, PARCEL, "PACKED")
    assert (made.data, made.transaction_id) == (SAMPLE, written.transaction_id)
    assert (shipped.state, deleted.data) == ("SHIPPED", None)
    assert made.sequence < shipped.sequence < deleted.sequence
    assert made.at < shipped.at < deleted.at
    rest = client.subscribe_changes(from_sequence=made.sequence, states=["SHIPPED"], model=PARCEL)
    async with aclosing(rest) as feed:
        again = await anext(feed)
    assert (again.sequence, again.data) == (shipped.sequence, None)


async def test_without_a_sequence_it_begins_now(client: Client) -> None:
    await make_model(client, flow=FLOW)
    await client.create(PARCEL, SAMPLE)
    async with aclosing(client.subscribe_changes()) as feed:
        first = asyncio.ensure_future(anext(feed))
        done: set[str] = set()
        while not first.done():
            done.update((await client.create(PARCEL, SAMPLE)).entity_ids)
        assert (await first).entity_id in done


async def test_a_feed_that_is_cancelled_as_its_client_closes_was_cancelled(
    target: str, tenant: dict[str, str]
) -> None:
    async with Client(target, metadata=tenant) as client:
        await make_model(client)
        await client.create(PARCEL, SAMPLE)
        feed = client.subscribe_changes(from_sequence=0)
        await anext(feed)
        waiting = asyncio.ensure_future(anext(feed))
        await asyncio.sleep(0)  # for it to wait
        waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting


async def test_what_cannot_be_is_refused(client: Client) -> None:
    for sequence in (-1, 2**40):
        with pytest.raises(BadRequest):
            await anext(client.subscribe_changes(from_sequence=sequence))
    with pytest.raises(ModelNotFound):
        await anext(client.subscribe_changes(model=("never", 1)))
    nowhere = Client("127.0.0.1:1", connect_timeout=0.2)
    with pytest.raises(ConnectionLost):
        await anext(nowhere.subscribe_changes(from_sequence=0))


async def test_it_goes_on_when_the_server_is_killed_or_stopped(tmp_path: Path) -> None:
    settings = {
        "CYODA_STORAGE_BACKEND": "sqlite",
        "CYODA_SQLITE_PATH": str(tmp_path / "interlock.db"),
    }
    made: list[str] = []
    heard: asyncio.Queue[FeedChange] = asyncio.Queue()

    async def listen(client: Client) -> None:
        async for change in client.subscribe_changes():
            heard.put_nowait(change)

    async with server(**settings) as running, Client(running.target) as client:
        await make_model(client, flow=FLOW)
        listening = asyncio.create_task(listen(client))
        await asyncio.sleep(0.5)
        for end in (running.kill, running.stop, running.kill):
            for _ in range(20):
                # Nothing may have been heard before the first loss.
                if end is not running.kill or made:
                    made.extend((await client.create(PARCEL, SAMPLE)).entity_ids)
            await end()
            await running.start()
            made.extend((await client.create(PARCEL, SAMPLE)).entity_ids)
        async with asyncio.timeout(20):
            changes = [await heard.get() for _ in made]
        assert [change.entity_id for change in changes] == made
        assert [change.sequence for change in changes] == sorted({c.sequence for c in changes})
        assert heard.empty()
        listening.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await listening


async def test_closing_the_client_ends_it(target: str, tenant: dict[str, str]) -> None:
    async with Client(target, metadata=tenant) as client:
        waiting = asyncio.ensure_future(anext(client.subscribe_changes(from_sequence=0)))
        await asyncio.sleep(0.2)
    with pytest.raises(ClientClosed):
        async with asyncio.timeout(5):
            await waiting
