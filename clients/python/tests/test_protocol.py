import asyncio
from typing import Any

import pytest
from scripts import Side, scripted

import interlock.connection
import interlock.member
from interlock import (
    Client,
    ConnectionLost,
    Context,
    Entity,
    Forbidden,
    Member,
    ServerError,
    events,
)
from interlock.api.cloudevents_pb2 import CloudEvent

META = {
    "id": "e-1",
    "modelKey": {"name": "parcel", "version": 1},
    "state": "NEW",
    "creationDate": "2026-01-01T00:00:00Z",
    "lastUpdateTime": "2026-01-01T00:00:00.123456789Z",
    "transactionId": "t-1",
}
CALL = {
    "requestId": "r-1",
    "entityId": "e-1",
    "processorName": "price",
    "payload": {"type": "JSON", "data": {"n": 1}, "meta": META},
}
COUNT = {"modelName": "parcel", "modelVersion": 1, "count": 7}


class Once:
    """What a script found out, for the test to wait for."""

    def __init__(self) -> None:
        self._result: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    def tell(self, result: Any) -> None:
        if not self._result.done():
            self._result.set_result(result)

    async def reported(self) -> Any:
        async with asyncio.timeout(10):
            return await self._result


async def test_a_member_answers_the_question_whether_it_lives() -> None:
    answer = Once()

    async def script(server: Side) -> None:
        await server.greet()
        await server.write(events.KEEP_ALIVE, {"id": "probe-1", "memberId": "m-1"})
        answer.tell(await server.read())
        await server.read()

    async with scripted(script) as target, Member(target):
        answered = await answer.reported()
    assert answered.type == events.ACKNOWLEDGEMENT
    payload = events.payload(answered)
    assert (payload["sourceEventId"], payload["success"]) == ("probe-1", True)


async def test_a_member_says_in_its_greeting_what_it_offers() -> None:
    joined = Once()

    async def script(server: Side) -> None:
        joined.tell(events.payload(await server.read()))
        await server.write(
            events.GREETING,
            {"success": False, "error": {"message": "FORBIDDEN: there are members enough"}},
        )
        await server.read()

    async with scripted(script) as target:
        with pytest.raises(Forbidden, match="members enough"):
            await Member(target, tags=["a", "b"]).run()
    assert (await joined.reported())["tags"] == ["a", "b"]


async def test_a_server_that_does_not_greet_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(interlock.connection, "GREETING_TIMEOUT", 0.05)

    async def script(server: Side) -> None:
        await server.read()
        await server.read()

    async with scripted(script) as target:
        with pytest.raises(ConnectionLost):
            async with Member(target, connect_timeout=0.3):
                pass


async def test_an_event_that_cannot_be_read_does_not_end_the_stream() -> None:
    answer = Once()

    async def script(server: Side) -> None:
        await server.greet()
        await server.write_raw(CloudEvent(type=events.KEEP_ALIVE, text_data="{"))
        await server.write_raw(CloudEvent(type="EntityProcessorCalculationRequest", text_data="7"))
        await server.write("EntityProcessorCalculationRequest", {"requestId": "r-0"})
        await server.write("SomethingNewEvent", {})
        await server.write("EntityModelGetAllResponse", {}, requestid="nobody's")
        await server.write("EntityProcessorCalculationRequest", CALL)
        answer.tell(await server.read())
        await server.read()

    async with scripted(script) as target:
        member = Member(target)

        @member.processor("price")
        async def price(entity: Entity, _context: Context) -> dict[str, Any]:
            return {"n": entity.data["n"] + 1, "at": entity.updated.isoformat()}

        async with member:
            payload = events.payload(await answer.reported())
    assert (payload["requestId"], payload["success"]) == ("r-1", True)
    assert payload["payload"]["data"] == {"n": 2, "at": "2026-01-01T00:00:00.123456+00:00"}


async def test_a_calculation_of_another_kind_is_refused_in_its_own_kind() -> None:
    answer = Once()

    async def script(server: Side) -> None:
        await server.greet()
        call = {"requestId": "r-1", "entityId": "e-1", "criteriaName": "is-heavy"}
        await server.write("EntityCriteriaCalculationRequest", call)
        answer.tell(await server.read())
        await server.read()

    async with scripted(script) as target, Member(target):
        answered = await answer.reported()
    assert answered.type == "EntityCriteriaCalculationResponse"
    error = events.payload(answered)["error"]
    assert error["message"] == "this member has no criterion `is-heavy`"
    assert error["retryable"]


async def test_more_calls_than_a_member_keeps_are_refused_as_retryable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(interlock.member, "CALLS_MAX", 1)
    answer = Once()

    async def script(server: Side) -> None:
        await server.greet()
        await server.write("EntityProcessorCalculationRequest", CALL)
        await server.write("EntityProcessorCalculationRequest", CALL | {"requestId": "r-2"})
        answer.tell(await server.read())
        await server.read()

    async with scripted(script) as target:
        member = Member(target)

        @member.processor("price")
        async def price(_entity: Entity, _context: Context) -> None:
            await answer.reported()

        async with member:
            payload = events.payload(await answer.reported())
    assert (payload["requestId"], payload["success"]) == ("r-2", False)
    assert payload["error"]["retryable"]


async def test_an_answer_that_lacks_a_part_is_not_taken_for_whole() -> None:
    async def script(server: Side) -> None:
        asked = await server.read()
        await server.write("EntityStatsResponse", COUNT, requestid=asked.id, sequence="1")
        await server.write("EventStreamEnd", {"count": 2, "success": True}, requestid=asked.id)
        await server.read()

    async with scripted(script) as target, Client(target) as client:
        with pytest.raises(ServerError, match="2 answers were sent, but 1 arrived"):
            await client.count()


async def test_an_answer_that_is_cut_off_is_lost() -> None:
    async def script(server: Side) -> None:
        asked = await server.read()
        await server.write("EntityStatsResponse", COUNT, requestid=asked.id, sequence="1")

    async with scripted(script) as target, Client(target) as client:
        with pytest.raises(ConnectionLost) as caught:
            await client.count()
    assert not caught.value.retryable
