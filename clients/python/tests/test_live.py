import asyncio
from contextlib import aclosing
from pathlib import Path

import pytest
from definitions import PARCEL, SAMPLE, make_model
from servers import server

from interlock import (
    BadRequest,
    Client,
    Complete,
    ConnectionLost,
    Entity,
    InvalidFieldPath,
    ModelNotFound,
    Turn,
)

LIGHT = {"type": "simple", "jsonPath": "$.weight", "operatorType": "LESS_THAN", "value": 1}


def parcel(weight: float) -> dict[str, object]:
    return {**SAMPLE, "weight": weight}


async def test_what_fits_comes_first_and_then_what_becomes_of_it(client: Client) -> None:
    await make_model(client)
    (light,) = (await client.create(PARCEL, parcel(0.5))).entity_ids
    (heavy,) = (await client.create(PARCEL, parcel(2))).entity_ids
    async with aclosing(client.subscribe_search(PARCEL, LIGHT, include_data=True)) as live:
        first = await anext(live)
        assert isinstance(first, Entity)
        assert first.id == light
        complete = await anext(live)
        assert isinstance(complete, Complete)
        await client.update(heavy, parcel(0.25))
        await client.update(light, parcel(0.75))
        await client.update(light, parcel(3))
        turns = [await anext(live) for _ in range(3)]
    assert all(isinstance(turn, Turn) for turn in turns)
    reported = [(turn.turn, turn.entity_id) for turn in turns if isinstance(turn, Turn)]
    assert reported == [("entered", heavy), ("changed", light), ("left", light)]
    entered, _, left = turns
    assert isinstance(entered, Turn)
    assert isinstance(left, Turn)
    assert (entered.data, left.data) == (parcel(0.25), None)
    rest = client.subscribe_search(PARCEL, LIGHT, from_sequence=entered.sequence)
    async with aclosing(rest) as live:
        again = await anext(live)
    assert isinstance(again, Turn)
    assert (again.turn, again.sequence) == ("changed", again.change.sequence)


async def test_what_cannot_be_is_refused(client: Client) -> None:
    await make_model(client)
    with pytest.raises(ModelNotFound):
        await anext(client.subscribe_search(("never", 1), LIGHT))
    with pytest.raises(InvalidFieldPath):
        await anext(client.subscribe_search(PARCEL, {**LIGHT, "jsonPath": "$.unknown"}))
    with pytest.raises(BadRequest):
        await anext(client.subscribe_search(PARCEL, LIGHT, from_sequence=2**40))
    nowhere = Client("127.0.0.1:1", connect_timeout=0.2)
    with pytest.raises(ConnectionLost):
        await anext(nowhere.subscribe_search(PARCEL, LIGHT))


async def test_it_goes_on_when_the_server_is_killed(tmp_path: Path) -> None:
    settings = {
        "CYODA_STORAGE_BACKEND": "sqlite",
        "CYODA_SQLITE_PATH": str(tmp_path / "interlock.db"),
    }
    async with server(**settings) as running, Client(running.target) as client:
        await make_model(client)
        live = client.subscribe_search(PARCEL, LIGHT)
        assert isinstance(await anext(live), Complete)
        for _ in range(2):
            made = (await client.create(PARCEL, parcel(0.5))).entity_ids
            async with asyncio.timeout(20):
                turn = await anext(live)
            assert isinstance(turn, Turn)
            assert (turn.turn, (turn.entity_id,)) == ("entered", tuple(made))
            await running.kill()
            await running.start()
        await live.aclose()
