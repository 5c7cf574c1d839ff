"""What a member that executes actions says on the wire."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from scripts import Side, scripted

from interlock import Member, Outcome, Pending, Rejected, Retryable, TaskContext, events
from interlock.api.cloudevents_pb2 import CloudEvent

CALL: dict[str, Any] = {
    "requestId": "r-1",
    "taskId": "wfrun-7.1",
    "attempt": 2,
    "kind": "action",
    "name": "charge-payment",
    "namespace": "billing",
    "input": {"order": "ORD-123", "amount": 99.99},
    "runId": "wfrun-7",
    "definition": {"name": "order-approval", "version": "1.0.0"},
    "step": "start",
    "deadline": "2126-01-01T00:00:00.000000Z",
    "idempotencyKey": "wfrun-7.1",
    "success": True,
}


async def exchange(member: Member, *sent: tuple[str, dict[str, Any]]) -> list[CloudEvent]:
    """Let a member join, send it events, and return what it says: the join event first."""
    said: list[CloudEvent] = []
    done = asyncio.Event()

    async def script(server: Side) -> None:
        said.append(await server.read())
        await server.write(events.GREETING, {"memberId": "m-1", "success": True})
        for kind, payload in sent:
            await server.write(kind, payload, cyodatxtoken="token-1")
        if sent:
            said.append(await server.read())
        done.set()
        await server.read()

    async with scripted(script) as target:
        member._connection.target = target  # the script's port is known only now
        async with member, asyncio.timeout(10):
            await done.wait()
    return said


def answer(event: CloudEvent) -> dict[str, Any]:
    payload = events.payload(event)
    return {name: payload[name] for name in payload if name not in ("id", "requestId")}


async def test_a_member_without_actions_joins_as_before() -> None:
    (joined,) = await exchange(Member(tags=["pricing"]))
    assert answer(joined) == {"tags": ["pricing"]}


async def test_a_member_announces_the_actions_that_it_executes() -> None:
    member = Member(tags=["billing"], namespace="shop", labels={"zone": "eu"}, concurrency=5)

    @member.action("charge-payment")
    @member.action("refund-payment")
    async def act(_input: Any, _context: TaskContext) -> None: ...

    (joined,) = await exchange(member)
    assert answer(joined) == {
        "tags": ["billing"],
        "actions": ["charge-payment", "refund-payment"],
        "maxConcurrency": 5,
        "labels": {"zone": "eu"},
        "namespace": "shop",
    }


@pytest.mark.parametrize(
    ("result", "answered"),
    [
        (
            {"charge_id": "ch_1"},
            {"success": True, "outcome": "success", "output": {"charge_id": "ch_1"}},
        ),
        (None, {"success": True, "outcome": "success", "output": {}}),
        (Outcome("fraud", {"n": 1}), {"success": True, "outcome": "fraud", "output": {"n": 1}}),
        (Pending({"id": 7}), {"success": True, "outcome": "pending", "output": {"id": 7}}),
        (
            Rejected("declined by the bank", code="declined"),
            {"success": False, "error": {"message": "declined by the bank", "code": "declined"}},
        ),
        (
            Retryable("busy"),
            {"success": False, "error": {"message": "busy", "retryable": True}},
        ),
        (
            KeyError("order"),
            {"success": False, "error": {"message": "KeyError: 'order'"}},
        ),
        ([1, 2], {"success": True, "outcome": "success", "output": [1, 2]}),
        (7, {"success": True, "outcome": "success", "output": 7}),
        ("x", {"success": True, "outcome": "success", "output": "x"}),
        (False, {"success": True, "outcome": "success", "output": False}),
        (Outcome("fraud", None), {"success": True, "outcome": "fraud", "output": {}}),
    ],
)
async def test_what_an_action_returns_or_raises_is_its_outcome(result: Any, answered: Any) -> None:
    member = Member()

    @member.action("charge-payment")
    async def charge(_input: Any, _context: TaskContext) -> Any:
        if isinstance(result, Exception):
            raise result
        return result

    _, response = await exchange(member, ("TaskCalculationRequest", CALL))
    assert response.type == "TaskCalculationResponse"
    assert events.payload(response)["requestId"] == "r-1"
    assert answer(response) == answered


async def test_an_action_knows_its_task_and_may_warn() -> None:
    member = Member()
    seen: list[tuple[Any, TaskContext]] = []

    @member.action("charge-payment")
    async def charge(order: Any, context: TaskContext) -> None:
        seen.append((order, context))
        context.warn("the rate is old")

    _, response = await exchange(member, ("TaskCalculationRequest", CALL))
    assert answer(response)["warnings"] == ["the rate is old"]
    ((order, context),) = seen
    assert (order["order"], str(order["amount"])) == ("ORD-123", "99.99")
    assert (context.name, context.task_id, context.attempt) == ("charge-payment", "wfrun-7.1", 2)
    assert (context.run_id, context.step, context.namespace) == ("wfrun-7", "start", "billing")
    assert context.definition == ("order-approval", "1.0.0")
    assert context.idempotency_key == "wfrun-7.1"


async def test_what_an_action_writes_carries_its_token() -> None:
    member = Member()

    @member.action("charge-payment")
    async def charge(_input: Any, context: TaskContext) -> None:
        await context.client.create(("charge", 1), {"order": "ORD-123"})

    _, write = await exchange(member, ("TaskCalculationRequest", CALL))
    assert write.type == "EntityCreateRequest"
    assert events.attribute(write, events.TOKEN) == "token-1"


async def test_an_action_without_a_function_is_retryable() -> None:
    member = Member()

    @member.action("refund-payment")
    async def refund(_input: Any, _context: TaskContext) -> None: ...

    _, response = await exchange(member, ("TaskCalculationRequest", CALL))
    error = answer(response)["error"]
    assert error["retryable"]
    assert error["message"].startswith("this member has no action `charge-payment`; member ")
    assert error["message"].endswith(" has `refund-payment`")


async def test_a_cancelled_task_is_given_up_without_an_answer() -> None:
    member = Member()
    begun, given_up = asyncio.Event(), asyncio.Event()

    @member.action("charge-payment")
    async def charge(order: Any, _context: TaskContext) -> None:
        if order == "second":
            return
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            given_up.set()

    second = CALL | {"requestId": "r-2", "taskId": "wfrun-8.1", "input": "second"}
    cancel = {"taskId": "wfrun-7.1", "requestId": "r-1", "reason": "the run was cancelled"}
    _, response = await exchange(
        member,
        ("TaskCalculationRequest", CALL),
        ("TaskCancelEvent", cancel),
        ("TaskCalculationRequest", second),
    )
    assert events.payload(response)["requestId"] == "r-2"


async def end_as_cancelled() -> None:
    await asyncio.Event().wait()


async def end_with_another_error() -> None:
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        raise Rejected("aborted", code="ABORTED") from None


@pytest.mark.parametrize("end", [end_as_cancelled, end_with_another_error])
async def test_a_cancelled_call_of_a_saga_is_answered(end: Callable[[], Awaitable[None]]) -> None:
    member = Member()

    @member.action("charge-payment")
    async def charge(_order: Any, _context: TaskContext) -> None:
        await end()

    call = CALL | {"kind": "connector"}
    cancel = {"taskId": "wfrun-7.1", "requestId": "r-1", "reason": "the run was cancelled"}
    _, response = await exchange(
        member, ("TaskCalculationRequest", call), ("TaskCancelEvent", cancel)
    )
    answered = events.payload(response)
    assert (answered["requestId"], answered["success"]) == ("r-1", False)
    assert answered["error"]["code"] == "CANCELLED"
