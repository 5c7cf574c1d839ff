import asyncio
import contextlib
import re
from typing import Any

import pytest
from grpc import StatusCode
from scripts import Side, scripted

import interlock.connection
import interlock.member
from interlock import (
    Client,
    ConnectionLost,
    Context,
    Entity,
    Forbidden,
    InvalidOptions,
    Member,
    Rejected,
    ServerError,
    StorageUnavailable,
    Worker,
    events,
)
from interlock.api.cloudevents_pb2 import CloudEvent
from interlock.operations.values import spec

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


async def test_callers_with_little_time_connect_in_the_end_and_know_why_not() -> None:
    client = Client("127.0.0.1:1", connect_timeout=0.3)
    connection = client._connection
    connection._delay = 5.0
    now = asyncio.get_running_loop().time()
    connection._not_before = now + 1.0  # longer than any of them waits
    async with asyncio.timeout(20):
        while connection._lost is None:
            with pytest.raises(ConnectionLost, match=r"within 0.3 s") as caught:
                await client.account()
            assert caught.value.retryable
    with pytest.raises(ConnectionLost, match=r"within 0.3 s: UNAVAILABLE: .*refused"):
        await client.account()
    await client.close()


async def test_a_peer_that_has_vanished_is_noticed(
    target: str, tenant: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sooner = [
        (name, span // 100 if "keepalive" in name or "ping" in name else span)
        for name, span in interlock.connection._CHANNEL_OPTIONS
    ]
    monkeypatch.setattr(interlock.connection, "_CHANNEL_OPTIONS", sooner)
    host, port = target.rsplit(":", 1)
    passes = asyncio.Event()
    passes.set()

    async def copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError), contextlib.closing(sink):
            while data := await source.read(1 << 16):
                await passes.wait()
                sink.write(data)

    relays: list[asyncio.Task[None]] = []

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server_reader, server_writer = await asyncio.open_connection(host, int(port))
        relays.append(asyncio.create_task(copy(reader, server_writer)))
        relays.append(asyncio.create_task(copy(server_reader, writer)))

    async with await asyncio.start_server(relay, "127.0.0.1", 0) as proxy:
        through = f"127.0.0.1:{proxy.sockets[0].getsockname()[1]}"
        async with Client(through, metadata=tenant) as client:
            await client.list_models()
            passes.clear()
            with pytest.raises(ConnectionLost):
                async with asyncio.timeout(20):
                    await client.list_models()
            passes.set()
        await asyncio.gather(*relays)


async def test_a_member_runs_in_a_thread() -> None:
    async def script(server: Side) -> None:
        await server.greet()
        greeted.set()
        await server.read()

    greeted = asyncio.Event()
    members: list[tuple[Member, asyncio.AbstractEventLoop]] = []

    async def serve(target: str) -> None:
        members.append((Member(target), asyncio.get_running_loop()))
        await members[0][0].run()

    async with scripted(script) as target, asyncio.timeout(10):
        thread = asyncio.create_task(asyncio.to_thread(asyncio.run, serve(target)))
        waiting = asyncio.create_task(greeted.wait())
        await asyncio.wait((thread, waiting), return_when=asyncio.FIRST_COMPLETED)
        ((member, loop),) = members
        loop.call_soon_threadsafe(member._stopping.set)
        await thread
    assert greeted.is_set()


@pytest.mark.parametrize("target", ["http://localhost:9090", "https://example.com"])
def test_a_url_is_no_target(target: str) -> None:
    for make in (Client, Member):
        with pytest.raises(InvalidOptions, match=r"the target is host:port of the gRPC port"):
            make(target)


@pytest.mark.parametrize(
    "target", ["", "localhost", "localhost:", ":9090", "localhost:0", "localhost:99999", "::1:9090"]
)
def test_what_has_no_host_and_port_is_no_target(target: str) -> None:
    for make in (Client, Member, Worker):
        with pytest.raises(InvalidOptions, match=r"is not host:port of the gRPC port"):
            make(target)


@pytest.mark.parametrize(
    "target", ["[::1]:9090", "unix:/run/interlock", "dns:///localhost:9090", "dns:localhost:9090"]
)
def test_targets_of_grpc_are_accepted(target: str) -> None:
    Client(target)


def test_there_is_room_for_one_at_least() -> None:
    for make in (
        lambda: Client(in_flight=0),
        lambda: Member(concurrency=0),
        lambda: Member(concurrency=-1),
        lambda: Worker(concurrency=0),
    ):
        with pytest.raises(InvalidOptions, match="use 1 or more"):
            make()


@pytest.mark.parametrize("model", ["purchase", "ab", ("purchase", "1"), ("purchase", 1, 2)])
def test_what_is_not_a_model_is_refused_with_an_example(model: Any) -> None:
    assert spec(("purchase", 1)) == {"name": "purchase", "version": 1}
    with pytest.raises(ValueError, match=r'is not a model; write \("name", version\)'):
        spec(model)


async def test_who_cannot_connect_is_told_why() -> None:
    client = Client("127.0.0.1:1", connect_timeout=0.5)
    with pytest.raises(ConnectionLost, match=r"within 0.5 s: UNAVAILABLE: .*refused"):
        await client.__aenter__()
    await client.close()


async def test_an_event_that_cannot_be_read_does_not_end_the_stream() -> None:
    refused, answer = [Once(), Once()], Once()

    async def script(server: Side) -> None:
        await server.greet()
        await server.write_raw(CloudEvent(type=events.KEEP_ALIVE, text_data="{"))
        await server.write_raw(CloudEvent(type="EntityProcessorCalculationRequest", text_data="7"))
        await server.write("EntityProcessorCalculationRequest", {"requestId": "r-0"})
        refused[0].tell(await server.read())
        deep = '{"requestId":"r-0","input":' + "[" * 100_000
        await server.write_raw(CloudEvent(type="TaskCalculationRequest", text_data=deep))
        refused[1].tell(await server.read())
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
            # A call is answered, so that nobody waits for it in vain.
            for once, kind in zip(refused, ("EntityProcessor", "Task"), strict=True):
                event = await once.reported()
                assert event.type == f"{kind}CalculationResponse"
                failure = events.payload(event)
                assert (failure["requestId"], failure["success"]) == ("r-0", False)
                assert "cannot read the call" in failure["error"]["message"]
                assert failure["error"]["retryable"]
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

    async with scripted(script) as target:
        member = Member(target)

        @member.criterion("is-light")
        async def is_light(_entity: Entity, _context: Context) -> bool:
            return True

        async with member:
            answered = await answer.reported()
    assert answered.type == "EntityCriteriaCalculationResponse"
    error = events.payload(answered)["error"]
    assert re.fullmatch(
        r"this member has no criterion `is-heavy`; member \S+ has `is-light`", error["message"]
    )
    assert error["retryable"]


async def test_more_calls_than_run_and_wait_are_refused_as_retryable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(interlock.member, "WAITING_MAX", 1)
    answer = Once()

    async def script(server: Side) -> None:
        await server.greet()
        for number in range(1 + 2 * 2 + 1):
            call = CALL | {"requestId": f"r-{number}"}
            await server.write("EntityProcessorCalculationRequest", call)
        answer.tell(await server.read())
        await server.read()

    async with scripted(script) as target:
        member = Member(target, concurrency=2)

        @member.processor("price")
        async def price(_entity: Entity, _context: Context) -> None:
            await answer.reported()

        async with member:
            payload = events.payload(await answer.reported())
    assert (payload["requestId"], payload["success"]) == ("r-5", False)
    assert payload["error"]["message"] == "this member already has 5 calls in flight"
    assert payload["error"]["retryable"]


async def test_an_answer_that_lacks_a_part_is_not_taken_for_whole() -> None:
    async def script(server: Side) -> None:
        await server.greet()
        await server.write("EntityProcessorCalculationRequest", CALL)
        asked = await server.read()
        await server.write("EntityStatsResponse", COUNT, requestid=asked.id, sequence="1")
        await server.write("EventStreamEnd", {"count": 2, "success": True}, requestid=asked.id)
        await server.read()
        await server.read()

    counted = Once()
    async with scripted(script) as target:
        member = Member(target)

        @member.processor("price")
        async def price(_entity: Entity, context: Context) -> None:
            with pytest.raises(ServerError) as caught:
                await context.client.count()
            counted.tell(caught.value.message)

        async with member:
            assert await counted.reported() == "2 answers were sent, but 1 arrived"


async def test_an_answer_that_is_cut_off_is_lost() -> None:
    async def answers(_request: CloudEvent, server: Side) -> None:
        await server.write("EntityStatsResponse", COUNT)
        await server.fail(StatusCode.UNAVAILABLE, "the connection was reset")

    async with scripted(answers=answers) as target, Client(target) as client:
        with pytest.raises(ConnectionLost) as caught:
            await client.count()
    assert not caught.value.retryable


async def test_a_failure_in_the_middle_of_an_answer_is_that_of_the_server() -> None:
    async def answers(_request: CloudEvent, server: Side) -> None:
        await server.write("EntityStatsResponse", COUNT)
        await server.fail(StatusCode.UNAVAILABLE, "STORAGE_UNAVAILABLE: the disk is full: 0 left")

    async with scripted(answers=answers) as target, Client(target) as client:
        with pytest.raises(StorageUnavailable) as caught:
            await client.count()
    assert caught.value.message == "the disk is full: 0 left"
    assert caught.value.retryable


async def answered(member: Member, *calls: dict[str, Any]) -> list[CloudEvent]:
    """Let a member join, call it, and return its answers."""
    answers: list[CloudEvent] = []
    done = Once()

    async def script(server: Side) -> None:
        await server.greet()
        for call in calls:
            await server.write("EntityProcessorCalculationRequest", call)
        for _ in calls:
            answers.append(await server.read())
        done.tell(True)
        await server.read()

    async with scripted(script) as target:
        member._connection.target = target  # the script's port is known only now
        async with member:
            await done.reported()
    return answers


async def test_what_cannot_be_encoded_is_replaced_in_a_failure_and_its_warnings() -> None:
    member = Member()

    @member.processor("price")
    async def price(_entity: Entity, context: Context) -> None:
        context.warn("half \ud83d")
        raise ValueError("\udc00 half")

    (answer,) = await answered(member, CALL)
    payload = events.payload(answer)
    assert payload["error"]["message"] == "ValueError: \ufffd half"
    assert payload["warnings"] == ["half \ufffd"]


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


class Ended(BaseException):
    pass


@pytest.mark.parametrize("error", [asyncio.CancelledError(), Ended("early"), Mute()])
async def test_whatever_a_handler_raises_is_a_failure(error: BaseException) -> None:
    member = Member()

    @member.processor("price")
    async def price(_entity: Entity, _context: Context) -> None:
        raise error

    (answer,) = await answered(member, CALL)
    payload = events.payload(answer)
    assert not payload["success"]
    assert type(error).__name__ in payload["error"]["message"]


async def test_waiting_for_what_was_cancelled_is_a_failure() -> None:
    member = Member()

    @member.processor("price")
    async def price(_entity: Entity, _context: Context) -> None:
        waiting = asyncio.create_task(asyncio.sleep(60))
        waiting.cancel()
        await waiting

    (answer,) = await answered(member, CALL)
    assert not events.payload(answer)["success"]


async def test_a_failure_is_cut_to_a_size_that_does_not_end_the_stream() -> None:
    member = Member()

    @member.processor("price")
    async def price(_entity: Entity, context: Context) -> None:
        for _ in range(1_200):
            context.warn("é" * 10_000)
        raise Rejected("x" * (17 << 20))

    (answer,) = await answered(member, CALL)
    payload = events.payload(answer)
    assert len(payload["error"]["message"].encode()) == 64 << 10
    assert payload["error"]["message"].endswith("x…")
    assert len(payload["warnings"]) == 1_000
    assert {len(warning.encode()) for warning in payload["warnings"][:-1]} == {4095}
    assert payload["warnings"][-1] == "201 more warnings are left out"


@pytest.mark.parametrize("fails", [True, False])
async def test_a_failure_that_is_too_large_goes_without_its_warnings(fails: bool) -> None:
    member = Member(message_bytes_max=100_000)

    @member.processor("price")
    async def price(_entity: Entity, context: Context) -> None:
        for _ in range(100):
            context.warn("w" * 4_000)
        if fails:
            raise Rejected("no price")

    (answer,) = await answered(member, CALL)
    payload = events.payload(answer)
    assert "warnings" not in payload
    expected = "no price" if fails else "100000 are allowed"
    assert payload["error"]["message"].endswith(expected)


async def test_a_member_that_stops_says_so_and_refuses_further_calls() -> None:
    drained, refused, finished, begun = Once(), Once(), Once(), asyncio.Event()
    task = {"requestId": "r-3", "taskId": "t-1", "attempt": 1, "name": "charge", "input": 1}
    task |= {"namespace": "default", "deadline": "2126-01-01T00:00:00Z", "idempotencyKey": "k"}

    async def script(server: Side) -> None:
        await server.greet()
        await server.write("EntityProcessorCalculationRequest", CALL)
        drained.tell(await server.read())
        await server.write("EntityProcessorCalculationRequest", CALL | {"requestId": "r-2"})
        await server.write("TaskCalculationRequest", task)
        refused.tell([await server.read(), await server.read()])
        finished.tell(await server.read())

    async with scripted(script) as target:
        member = Member(target)

        @member.processor("price")
        async def price(_entity: Entity, _context: Context) -> None:
            begun.set()
            await refused.reported()

        async with member:
            await begun.wait()
    request = await drained.reported()
    assert request.type == "WorkerDrainRequest"
    payload = events.payload(request)
    assert payload == {"id": request.id, "workerId": "m-1"}
    for number, answer in enumerate(await refused.reported(), 2):
        payload = events.payload(answer)
        assert (payload["requestId"], payload["success"]) == (f"r-{number}", False)
        assert payload["error"] == {
            "code": "MEMBER_STOPPING",
            "message": "the member is stopping",
            "retryable": True,
        }
    # What it had is finished, although the server has not answered that it knows.
    payload = events.payload(await finished.reported())
    assert (payload["requestId"], payload["success"]) == ("r-1", True)


async def test_a_member_does_not_wait_long_for_a_server_that_does_not_say_that_it_knows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(interlock.member, "DRAIN_TIMEOUT", 0.05)
    said: list[str] = []

    async def script(server: Side) -> None:
        await server.greet()
        while True:
            said.append((await server.read()).type)

    async with scripted(script) as target, asyncio.timeout(5), Member(target):
        pass
    assert said[0] == "WorkerDrainRequest"
