"""Searches whose connection is lost on the way."""

import asyncio
import logging
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from definitions import ALL, PARCEL
from grpc import StatusCode
from scripts import Side, scripted

import interlock.operations.searching
from interlock import Client, ConnectionLost, events
from interlock.api.cloudevents_pb2 import CloudEvent

THEN = datetime(2026, 1, 1, tzinfo=UTC)


def entity(identifier: str) -> dict[str, Any]:
    meta = {
        "id": identifier,
        "modelKey": {"name": "parcel", "version": 1},
        "state": "NEW",
        "creationDate": "2026-01-01T00:00:00Z",
        "lastUpdateTime": "2026-01-01T00:00:00Z",
        "transactionId": "t-1",
    }
    return {"payload": {"type": "ENTITY", "data": {"n": 1}, "meta": meta}}


class Lossy:
    """A server that loses its calls after so many entities, each time; None for all."""

    def __init__(self, ends: Sequence[int | None]) -> None:
        self._ends = iter(ends)
        self.asked: list[dict[str, Any]] = []

    async def answers(self, request: CloudEvent, server: Side) -> None:
        self.asked.append(events.payload(request) | {"id": None})
        end = next(self._ends)
        for one in ("a", "b", "c")[:end]:
            await server.write("EntityResponse", entity(one))
        if end is not None:
            await server.fail(StatusCode.UNAVAILABLE, "the connection was reset")


async def found(ends: Sequence[int | None], then: datetime | None) -> tuple[list[str], Lossy]:
    lossy = Lossy(ends)
    async with (
        scripted(answers=lossy.answers) as target,
        Client(target) as client,
        asyncio.timeout(20),
    ):
        search = client.search(PARCEL, ALL, point_in_time=then)
        return [one.id async for one in search], lossy


async def test_a_search_as_of_a_time_is_resumed_and_yields_each_entity_once() -> None:
    ids, lossy = await found((2, 1, None), THEN)
    assert ids == ["a", "b", "c"]
    assert lossy.asked == 3 * lossy.asked[:1]


async def test_a_search_without_a_time_is_sent_again_only_while_nothing_has_come() -> None:
    assert (await found((0, None), None))[0] == ["a", "b", "c"]
    with pytest.raises(ConnectionLost):
        await found((1, None), None)


async def test_a_search_that_yields_nothing_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interlock.operations.searching, "SEARCH_ATTEMPTS", 2)
    with pytest.raises(ConnectionLost):
        await found((0, 0, None), THEN)


async def test_log_records_have_fields(caplog: pytest.LogCaptureFixture) -> None:
    async def script(server: Side) -> None:
        await server.read()

    with caplog.at_level(logging.WARNING, logger="interlock"):
        async with scripted(script) as target, Client(target) as client:
            with pytest.raises(ConnectionLost):
                await client.account()
    (ended,) = (record for record in caplog.records if "the stream to" in record.message)
    assert ended.message.startswith(f"the stream to {vars(ended)['target']} has ended")
