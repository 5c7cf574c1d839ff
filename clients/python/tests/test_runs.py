"""Step workflows with a real server: runs, actions on a member's stream, workers, topics."""

import asyncio
import contextlib
from contextlib import aclosing
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from servers import server

from interlock import (
    Client,
    InvalidRequest,
    Member,
    NewEvent,
    Outcome,
    Pending,
    Rejected,
    Retryable,
    Run,
    RunDefinitionDisabled,
    RunDefinitionNotFound,
    RunExists,
    RunFinished,
    RunNotFound,
    Task,
    TaskContext,
    TopicNotFound,
    Worker,
)

FLO = Path(__file__).parents[3] / "tests/it/fixtures/flo"
APPROVAL = (FLO / "order-approval.yaml").read_text()

NOTE = ("note", 1)


def one_step(name: str, action: str, **step: Any) -> dict[str, Any]:
    """Define a workflow that calls an action and ends."""
    transitions = {"success": "flo.Completed", "failure": "flo.Failed", "fraud": "flo.Cancelled"}
    start = {"run": f"@actions/{action}", "transitions": transitions, **step}
    return {
        "kind": "Workflow",
        "name": name,
        "version": "1.0.0",
        "output": '{"is": "$.steps._start.output"}',
        "start": start,
    }


async def finished(client: Client, run_id: str) -> Run:
    async with asyncio.timeout(20):
        return await client.runs.finished(run_id)


async def prepared(client: Client, action: str, **registered: Any) -> None:
    await client.runs.actions.register(action, **registered)
    await client.runs.definitions.create(one_step("one-step", action))


async def test_a_run_is_started_signalled_and_followed(client: Client, member: Member) -> None:
    seen: list[tuple[Any, TaskContext]] = []

    @member.action("charge-payment")
    async def charge(order: Any, context: TaskContext) -> dict[str, Any]:
        seen.append((order, context))
        return {"charge_id": "ch_1"}

    created = await client.runs.definitions.create(APPROVAL)
    assert (created.name, created.version, created.change) == (
        "order-approval",
        "1.0.0",
        "created",
    )
    assert (await client.runs.definitions.create(APPROVAL)).change == "unchanged"
    await client.runs.actions.register("charge-payment", timeout=timedelta(seconds=10))
    order = {"order_id": "ORD-123", "amount": Decimal("99.99")}
    async with member:
        started = await client.runs.start("order-approval", order, idempotency_key="order-123")
        assert (started.is_new, started.definition) == (True, ("order-approval", "1.0.0"))
        async with asyncio.timeout(20), aclosing(client.runs.follow(started.run_id)) as history:
            async for event in history:
                if event.event_type == "waiting_for_signal":
                    break
        waiting = await client.runs.get(started.run_id)
        assert (waiting.status, waiting.current_step) == ("waiting", "await_approval")
        assert waiting.waiting is not None
        assert (waiting.waiting.what, waiting.waiting.name) == ("signal", "approval")
        assert waiting.input == order
        ((given, context),) = seen
        assert given == {"order": "ORD-123", "amount": Decimal("99.99")}
        assert context.idempotency_key == context.task_id
        assert (context.run_id, context.step) == (started.run_id, "start")
        signalled = await client.runs.signal(started.run_id, "approval", {"approver": "Ada"})
        assert (signalled.matched, signalled.status) == (True, "completed")
        run = await finished(client, started.run_id)
    assert (run.status, run.output) == ("completed", {"charge": "ch_1", "by": "Ada"})
    events = [(event.event_type, event.sequence) async for event in client.runs.history(run.run_id)]
    assert [name for name, _ in events] == [
        "workflow_started",
        "step_started",
        "awaiting_action",
        "action_completed",
        "step_completed",
        "step_started",
        "waiting_for_signal",
        "signal_received",
        "signal_matched",
        "step_completed",
        "workflow_completed",
    ]
    assert [sequence for _, sequence in events] == list(range(1, 12))
    again = await client.runs.start("order-approval", idempotency_key="order-123")
    assert (again.run_id, again.is_new, again.status) == (run.run_id, False, "completed")
    with pytest.raises(RunFinished):
        await client.runs.signal(run.run_id, "approval")
    rest = [event.sequence async for event in client.runs.follow(run.run_id, from_sequence=9)]
    assert rest == [10, 11]
    assert [event async for event in client.runs.follow(run.run_id, from_sequence=11)] == []


async def test_refusals_are_exceptions(client: Client) -> None:
    with pytest.raises(RunDefinitionNotFound):
        await client.runs.start("nothing")
    with pytest.raises(RunNotFound):
        await client.runs.get("wfrun-1")
    with pytest.raises(RunNotFound):
        await anext(client.runs.follow("wfrun-1"))
    with pytest.raises(TopicNotFound):
        await anext(client.runs.topics.read("nothing"))
    with pytest.raises(InvalidRequest) as refused:
        await client.runs.definitions.create("kind: Workflow\nname: w\nversion: 1.0.0\n")
    assert "E103" in [finding["code"] for finding in refused.value.properties["findings"]]
    found = await client.runs.definitions.validate("kind: Workflow\nname: w\nversion: 1.0.0\n")
    assert not found.is_valid
    assert ("E103", "error") in [(one.code, one.severity) for one in found.findings]


async def test_definitions_are_listed_disabled_and_deleted(client: Client) -> None:
    await prepared(client, "act")
    await client.runs.definitions.create(one_step("one-step", "act") | {"version": "2.0.0"})
    (listed,) = [one async for one in client.runs.definitions.list()]
    assert (listed.name, listed.version, listed.is_enabled) == ("one-step", "2.0.0", True)
    assert set(listed.versions) == {"1.0.0", "2.0.0"}
    await client.runs.definitions.disable("one-step")
    with pytest.raises(RunDefinitionDisabled):
        await client.runs.start("one-step")
    await client.runs.definitions.enable("one-step")
    started = await client.runs.start("one-step", run_id="my-run")
    assert started.run_id == "my-run"
    with pytest.raises(RunExists):
        await client.runs.start("one-step", run_id="my-run")
    assert await client.runs.cancel("my-run", "not needed") == "cancelled"
    (cancelled,) = [run async for run in client.runs.list("one-step", status=["cancelled"])]
    assert cancelled.run_id == "my-run"
    assert await client.runs.definitions.delete("one-step") == 2
    with pytest.raises(RunDefinitionNotFound):
        await client.runs.definitions.get("one-step")


async def test_what_an_action_writes_is_committed_with_its_outcome_or_not_at_all(
    client: Client, member: Member
) -> None:
    await client.import_model(NOTE, {"of": "x"})
    await client.lock_model(NOTE)

    @member.action("note")
    async def note(given: Any, context: TaskContext) -> Outcome | None:
        await context.client.create(NOTE, {"of": given["of"]})
        if given["of"] == "failed":
            raise Rejected("no")
        return Outcome("fraud") if given["of"] == "fraud" else None

    await prepared(client, "note")
    async with member:
        for of, status in (("done", "completed"), ("failed", "failed"), ("fraud", "cancelled")):
            started = await client.runs.start("one-step", {"of": of})
            assert (await finished(client, started.run_id)).status == status
    notes = {entity.data["of"] async for entity in client.list_entities(NOTE)}
    assert notes == {"done", "fraud"}


async def test_a_retryable_failure_is_delivered_again(client: Client, member: Member) -> None:
    attempts: list[tuple[str, int]] = []

    @member.action("busy")
    async def busy(_input: Any, context: TaskContext) -> None:
        attempts.append((context.task_id, context.attempt))
        if context.attempt < 3:
            raise Retryable("busy")

    await prepared(client, "busy", retry_delay=timedelta(milliseconds=10))
    async with member:
        started = await client.runs.start("one-step")
        assert (await finished(client, started.run_id)).status == "completed"
    assert [attempt for _, attempt in attempts] == [1, 2, 3]
    assert len({task for task, _ in attempts}) == 1


async def test_a_pending_task_is_completed_later(client: Client, member: Member) -> None:
    tasks: asyncio.Queue[str] = asyncio.Queue()

    @member.action("slow")
    async def slow(_input: Any, context: TaskContext) -> Pending:
        tasks.put_nowait(context.task_id)
        return Pending()

    await prepared(client, "slow")
    async with member:
        started = await client.runs.start("one-step")
        task = await asyncio.wait_for(tasks.get(), 20)
    reported = await client.runs.tasks.complete(task, {"n": 7})
    assert reported.applied
    run = await finished(client, started.run_id)
    assert (run.status, run.output) == ("completed", {"is": {"n": 7}})
    assert not (await client.runs.tasks.complete(task)).applied
    assert (await client.runs.tasks.get(task)).outcome == "success"


async def test_a_cancelled_run_gives_up_its_task(client: Client, member: Member) -> None:
    begun, given_up = asyncio.Event(), asyncio.Event()

    @member.action("endless")
    async def endless(_input: Any, _context: TaskContext) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            given_up.set()

    await prepared(client, "endless")
    async with member, asyncio.timeout(20):
        started = await client.runs.start("one-step")
        await begun.wait()
        await client.runs.cancel(started.run_id)
        await given_up.wait()


async def test_a_worker_pulls_tasks_until_it_is_stopped(
    client: Client, target: str, tenant: dict[str, str]
) -> None:
    worker = Worker(target, "w1", metadata=tenant)
    seen: list[Task] = []

    @worker.action("charge")
    async def charge(order: Any, task: Task) -> dict[str, Any]:
        seen.append(task)
        if order["n"] == 2:
            raise Rejected("declined by the bank", code="declined")
        return {"n": order["n"]}

    await prepared(client, "charge")
    async with worker:
        states = {one.worker_id: one async for one in client.runs.workers.list()}
        assert (states["w1"].actions, states["w1"].on_stream) == (("charge",), False)
        ends = []
        for number in (1, 2):
            started = await client.runs.start("one-step", {"n": number})
            ends.append(await finished(client, started.run_id))
    assert [run.status for run in ends] == ["completed", "failed"]
    assert ends[0].output == {"is": {"n": 1}}
    assert ends[1].steps["start"].output == {
        "error": "declined by the bank",
        "error_code": "declined",
    }
    assert [task.taken_by for task in seen] == ["w1", "w1"]
    assert [one async for one in client.runs.workers.list()] == []


async def test_a_worker_reports_once_what_it_cannot_report_as_it_is(
    client: Client, target: str, tenant: dict[str, str]
) -> None:
    worker = Worker(target, "w1", metadata=tenant)
    seen: list[str] = []
    outputs: dict[str, Any] = {
        "no JSON": {"at": object()},
        "infinite": {"n": float("inf")},
        "half a character": {"text": "\ud800"},
        "too large": {"text": "x" * (2 << 20)},
    }
    raised = {
        "cancelled": asyncio.CancelledError(),
        "long": Rejected("x" * (17 << 20)),
        "unencodable": ValueError("\ud800"),
    }

    @worker.action("charge")
    async def charge(order: Any, _task: Task) -> Any:
        kind = order["kind"]
        seen.append(kind)
        if kind in raised:
            raise raised[kind]
        return outputs[kind]

    await prepared(client, "charge")
    async with worker:
        for kind in [*outputs, *raised]:
            started = await client.runs.start("one-step", {"kind": kind})
            assert (await finished(client, started.run_id)).status == "failed"
    assert seen == [*outputs, *raised]


async def test_a_worker_keeps_a_task_no_longer_than_its_action_allows(
    client: Client, target: str, tenant: dict[str, str]
) -> None:
    worker = Worker(target, "w1", metadata=tenant)
    given_up = asyncio.Event()

    @worker.action("endless")
    async def endless(_input: Any, _task: Task) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            given_up.set()

    await prepared(client, "endless", timeout=timedelta(seconds=2), max_retries=0)
    async with worker, asyncio.timeout(20):
        started = await client.runs.start("one-step")
        run = await finished(client, started.run_id)
        await given_up.wait()
    assert (run.status, run.steps["start"].outcome) == ("failed", "timeout")


async def test_a_worker_extends_a_lease_before_it_ends() -> None:
    async with server(INTERLOCK_TASKS_LEASE="2s") as own, Client(own.target) as client:
        worker = Worker(own.target, "w1")
        begun: asyncio.Queue[Task] = asyncio.Queue()
        extended = asyncio.Event()

        @worker.action("long")
        async def long(_input: Any, task: Task) -> None:
            begun.put_nowait(task)
            await extended.wait()

        await prepared(client, "long")
        async with worker, asyncio.timeout(20):
            started = await client.runs.start("one-step")
            task = seen = await begun.get()
            while seen.lease_until == task.lease_until:
                seen = await client.runs.tasks.get(task.task_id)
            extended.set()
            assert (await finished(client, started.run_id)).status == "completed"
        assert seen.attempt == 1
        assert begun.empty(), "it was executed twice"


async def test_a_worker_reports_when_a_server_is_back(tmp_path: Path) -> None:
    stored = {"CYODA_STORAGE_BACKEND": "sqlite", "CYODA_SQLITE_PATH": str(tmp_path / "runs.db")}
    async with server(**stored) as restarted, Client(restarted.target) as client:
        worker = Worker(restarted.target, "w1", connect_timeout=0.5)
        begun = asyncio.Semaphore(0)
        away = asyncio.Event()

        @worker.action("charge")
        async def charge(_order: Any, _task: Task) -> dict[str, Any]:
            begun.release()
            await away.wait()
            return {"charged": True}

        await prepared(client, "charge")
        async with worker, asyncio.timeout(40):
            started = await client.runs.start("one-step")
            await begun.acquire()
            await restarted.kill()
            away.set()
            # For longer than a request waits for a connection.
            await asyncio.sleep(2)
            await restarted.start()
            run = await finished(client, started.run_id)
        assert run.output == {"is": {"charged": True}}
        assert begun.locked(), "the task was executed again"


async def test_topics_keep_their_events_in_order_and_start_runs(client: Client) -> None:
    published = await client.runs.topics.publish(
        "orders", [NewEvent({"n": 1}, id="a"), NewEvent({"n": 2}, key="k", type="t")]
    )
    assert list(published) == [1, 2]
    assert list(await client.runs.topics.publish("orders", [NewEvent({"n": 9}, id="a")])) == [1]
    events = [event async for event in client.runs.topics.read("orders")]
    assert [(event.sequence, event.payload) for event in events] == [(1, {"n": 1}), (2, {"n": 2})]
    assert (events[1].key, events[1].type, events[0].id) == ("k", "t", "a")
    assert [event.sequence async for event in client.runs.topics.read("orders", 1)] == [2]
    document = one_step("triggered", "none") | {"trigger": {"stream": "orders"}}
    document["start"]["transitions"] = {"target_not_found": "flo.Completed"}
    await client.runs.definitions.create(document)
    ended: set[str] = set()
    async with asyncio.timeout(20):
        async with aclosing(client.runs.follow(definition="triggered", from_sequence=0)) as feed:
            async for event in feed:
                if event.is_last:
                    ended.add(event.run_id)
                if len(ended) == 2:
                    break
    inputs = [(await client.runs.get(run_id)).input for run_id in ended]
    assert sorted(given["n"] for given in inputs) == [1, 2]


async def test_a_topic_of_large_events_is_read_to_its_end(client: Client) -> None:
    for _ in range(6):
        await client.runs.topics.publish("scans", [NewEvent({"text": "x" * 900_000})])
    events = [event async for event in client.runs.topics.read("scans")]
    assert [event.sequence for event in events] == [1, 2, 3, 4, 5, 6]


async def test_namespaces_keep_workflows_apart(client: Client) -> None:
    billing = client.runs.within("billing")
    await billing.definitions.create(one_step("one-step", "act"))
    with pytest.raises(RunDefinitionNotFound):
        await client.runs.start("one-step")
    started = await billing.start("one-step")
    assert (await client.runs.get(started.run_id)).namespace == "billing"
    assert [run async for run in client.runs.list()] == []


async def test_following_resumes_when_the_server_is_killed_or_stopped(tmp_path: Path) -> None:
    settings = {
        "CYODA_STORAGE_BACKEND": "sqlite",
        "CYODA_SQLITE_PATH": str(tmp_path / "interlock.db"),
    }
    ended: list[str] = []
    heard = asyncio.Condition()

    async def listen(client: Client) -> None:
        async for event in client.runs.follow(definition="ends", from_sequence=0):
            if event.is_last:
                async with heard:
                    ended.append(event.run_id)
                    heard.notify_all()

    async with server(**settings) as running, Client(running.target) as client:
        document = one_step("ends", "none")
        document["start"]["transitions"] = {"target_not_found": "flo.Completed"}
        await client.runs.definitions.create(document)
        started: list[str] = []
        listening = asyncio.create_task(listen(client))
        for end in (running.kill, running.stop, running.kill):
            for _ in range(10):
                started.append((await client.runs.start("ends")).run_id)
            await end()
            await running.start()
            started.append((await client.runs.start("ends")).run_id)
        async with asyncio.timeout(30), heard:
            await heard.wait_for(lambda: len(ended) >= len(started))
        assert sorted(ended) == sorted(started)
        listening.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await listening
