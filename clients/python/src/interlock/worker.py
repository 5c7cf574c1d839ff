"""A worker: pulls the tasks of actions from a server, where a member is sent them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import uuid
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import Any, Self, TypeVar

import grpc

from interlock import answers, errors
from interlock.client import Client
from interlock.connection import CONNECT_TIMEOUT, Metadata, at_least_one
from interlock.run_records import Task
from interlock.runs import Runs
from interlock.signals import stopped_by_signals
from interlock.tasks import failure, outcome

Handler = TypeVar("Handler", bound=Callable[[Any, Task], Awaitable[Any]])

BLOCK = timedelta(seconds=30)
"""How long the server may keep a request for tasks waiting."""

TOUCH_EVERY = 10.0
"""How often the lease of a task is extended while it is worked on, at least, in seconds."""

TOUCH_PAUSE_MIN = 0.5
"""How often at most: a clock may be wrong, and a lease is then over before it begins."""

REPORT_FOR = 60.0
"""How long it is tried to report the outcome of a task while the server is away, in seconds."""

# What says nothing against a report: it may have arrived, or nobody waits for it any more.
_NOT_REFUSED = (
    errors.ConnectionLost,
    errors.OutcomeUnknown,
    errors.Cancelled,
    errors.RunFinished,
    errors.ServerError,
    errors.TaskLeaseLost,
    errors.TaskNotFound,
)

# The delay between two attempts to reach the server, in seconds: doubling.
_FIRST_DELAY = 0.1
_LONGEST_DELAY = 5.0

log = logging.getLogger("interlock")


class Worker:
    """Pulls the tasks of some actions, executes them, and reports their outcomes.

        worker = Worker("localhost:9090", "w1")

        @worker.action("charge-payment")
        async def charge_payment(order: Any, task: Task) -> dict[str, Any]:
            return {"charge_id": task.idempotency_key or task.task_id}

        asyncio.run(worker.run())

    Functions return and raise what those of `Member.action` do. A worker has no transaction: what
    it writes through `client` commits by itself, and should carry an idempotency key that is made
    of the task's. Leases are extended while a function runs, for as long as the action's
    `timeoutMs` allows: then the task ends as `timeout`, and the function is cancelled. When the
    server cannot be reached, the worker registers again, however long that takes.
    """

    def __init__(
        self,
        target: str = "localhost:9090",
        worker_id: str | None = None,
        *,
        namespace: str | None = None,
        labels: Mapping[str, str] | None = None,
        concurrency: int = 10,
        metadata: Metadata | None = None,
        credentials: grpc.ChannelCredentials | None = None,
        connect_timeout: float = CONNECT_TIMEOUT,
    ) -> None:
        """Prepare; nothing is connected yet.

        Args:
            target: where the server's gRPC port is, as `host:port`.
            worker_id: how the server lists it; by default an id that no other worker has.
            namespace: of the actions; None is the server's default.
            labels: what an invocation may ask for besides.
            concurrency: how many tasks it works on at once.
            metadata: as for `Client`; the caller needs the role `ROLE_M2M`.
            credentials: as for `Client`.
            connect_timeout: as for `Client`.

        Raises:
            InvalidOptions: as `Client`, or `concurrency` is not at least 1.

        """
        at_least_one("concurrency", concurrency)
        self.worker_id = worker_id or f"worker-{uuid.uuid4()}"
        self.client = Client(
            target, metadata=metadata, credentials=credentials, connect_timeout=connect_timeout
        )
        """All operations, on the worker's stream."""
        self._namespace = namespace
        self._labels = dict(labels or {})
        self._concurrency = concurrency
        self._places = asyncio.Semaphore(concurrency)
        self._handlers: dict[str, Callable[[Any, Task], Awaitable[Any]]] = {}
        self._working: set[asyncio.Task[None]] = set()
        self._stopping = asyncio.Event()
        self._serving: asyncio.Task[None] | None = None

    def action(self, name: str) -> Callable[[Handler], Handler]:
        """Register the function that executes the action of that name; it is given the task."""

        def register(function: Handler) -> Handler:
            self._handlers[name] = function
            return function

        return register

    async def run(self) -> None:
        """Work until `stop` is called, the server drains it, or SIGTERM or SIGINT is received.

        What is being worked on is finished first.

        Raises:
            Unauthorized, Forbidden: the server does not take this caller as a worker.

        """
        with stopped_by_signals(self._stopping.set):
            self._serving = asyncio.create_task(self._serve())
            stopping = asyncio.create_task(self._stopping.wait())
            try:
                await asyncio.wait((self._serving, stopping), return_when=asyncio.FIRST_COMPLETED)
                if self._serving.done():
                    self._serving.result()
            finally:
                stopping.cancel()
                await self.stop()

    async def stop(self, timeout: float = 30.0) -> None:
        """Drain: finish what is being worked on, for so many seconds at most, and leave."""
        self._stopping.set()
        with contextlib.suppress(errors.InterlockError, TimeoutError):
            async with asyncio.timeout(timeout):
                await self._runs.workers.drain(self.worker_id)
        if self._serving is not None:
            self._serving.cancel()
            await asyncio.gather(self._serving, return_exceptions=True)
        if self._working:
            await asyncio.wait(self._working, timeout=timeout)
        for task in list(self._working):
            task.cancel()
        await asyncio.gather(*self._working, return_exceptions=True)
        with contextlib.suppress(errors.InterlockError):
            await self._runs.workers.deregister(self.worker_id)
        await self.client.close()

    async def __aenter__(self) -> Self:
        """Register, and work in the background.

        Raises:
            ConnectionLost: the server cannot be reached within the connect timeout.
            Unauthorized, Forbidden: the server does not take this caller as a worker.

        """
        every = await self._register()
        self._serving = asyncio.create_task(self._serve(every))
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.stop()

    @property
    def _runs(self) -> Runs:
        runs = self.client.runs
        return runs if self._namespace is None else runs.within(self._namespace)

    async def _register(self) -> timedelta:
        return await self._runs.workers.register(
            self.worker_id,
            sorted(self._handlers),
            max_concurrency=self._concurrency,
            labels=self._labels or None,
        )

    async def _serve(self, every: timedelta | None = None) -> None:
        """Pull tasks; after a failure that may pass, register and begin again."""
        delay = _FIRST_DELAY
        while not self._stopping.is_set():
            try:
                interval = every or await self._register()
                delay, every = _FIRST_DELAY, None
                async with asyncio.TaskGroup() as together:
                    together.create_task(self._stay_known(interval))
                    together.create_task(self._pull())
            except* (errors.Unauthorized, errors.Forbidden, errors.InvalidOptions) as refused:
                raise refused.exceptions[0] from None
            except* errors.InterlockError as lost:
                log.warning(
                    "worker %s: %s; trying again",
                    self.worker_id,
                    lost.exceptions[0],
                    extra={"worker_id": self.worker_id},
                )
            await asyncio.sleep(delay)
            delay = min(_LONGEST_DELAY, 2 * delay)

    async def _stay_known(self, interval: timedelta) -> None:
        while True:
            await asyncio.sleep(interval.total_seconds())
            load = len(self._working) / self._concurrency
            if await self._runs.workers.heartbeat(self.worker_id, load=min(1.0, load)):
                about = {"worker_id": self.worker_id}
                log.info("worker %s is drained", self.worker_id, extra=about)
                self._stopping.set()

    async def _pull(self) -> None:
        names = sorted(self._handlers)
        while not self._stopping.is_set():
            await self._places.acquire()
            tasks = []
            try:
                tasks = list(await self._runs.tasks.take(self.worker_id, names, wait=BLOCK))
            finally:
                if not tasks:
                    self._places.release()
            for task in tasks:
                working = asyncio.create_task(self._work(task))
                self._working.add(working)
                working.add_done_callback(self._done)

    def _done(self, working: asyncio.Task[None]) -> None:
        self._working.discard(working)
        self._places.release()

    async def _work(self, task: Task) -> None:
        """Execute a task and report what came of it."""
        executing = asyncio.ensure_future(self._execute(task))
        touching = asyncio.create_task(self._touch(task, executing))
        try:
            report = await executing
        except asyncio.CancelledError:
            executing.cancel()
            return
        finally:
            touching.cancel()
        try:
            await self._report_while_away(task, report)
        except Exception as error:
            # The lease ends, and the task is delivered again.
            log.warning(
                "the outcome of task %s could not be reported: %s",
                task.task_id,
                error,
                extra=_about(task),
            )

    async def _execute(self, task: Task) -> dict[str, Any]:
        try:
            return outcome(await self._handlers[task.name](task.input, task))
        except BaseException as error:
            if answers.is_given_up(error):
                raise
            log.info("action %s failed: %s", task.name, error, extra=_about(task))
            return failure(error)

    async def _report_while_away(self, task: Task, report: Mapping[str, Any]) -> None:
        """Report what came of a task, again while the server cannot be reached.

        A server that is back knows who has the task: without the report it would be executed again.
        """
        loop = asyncio.get_running_loop()
        ends = loop.time() + REPORT_FOR
        delay = _FIRST_DELAY
        while True:
            try:
                return await self._report_once(task, report)
            except errors.ClientClosed:
                raise
            except errors.InterlockError as error:
                may_pass = error.retryable or isinstance(
                    error, errors.ConnectionLost | errors.OutcomeUnknown
                )
                if not may_pass or loop.time() + delay > ends:
                    raise
            await asyncio.sleep(delay)
            delay = min(_LONGEST_DELAY, 2 * delay)

    async def _report_once(self, task: Task, report: Mapping[str, Any]) -> None:
        """Report what came of a task; if that cannot be reported, that it failed.

        Otherwise it would be executed again, to the same end, whenever its lease is over.
        """
        try:
            await self._report(task, report)
        except Exception as error:
            is_passing = isinstance(error, errors.InterlockError) and error.retryable
            if is_passing or isinstance(error, _NOT_REFUSED):
                raise
            about = (task.task_id, error)
            log.info("the outcome of task %s is refused: %s", *about, extra=_about(task))
            await self._report(task, failure(error))

    async def _report(self, task: Task, report: Mapping[str, Any]) -> None:
        tasks = self.client.runs.tasks
        if (error := report.get("error")) is None:
            await tasks.complete(
                task.task_id,
                report["output"],
                outcome=report["outcome"],
                worker_id=self.worker_id,
            )
        else:
            await tasks.fail(
                task.task_id,
                error["message"],
                code=error.get("code"),
                retry=error.get("retryable", False),
                worker_id=self.worker_id,
            )

    async def _touch(self, task: Task, executing: asyncio.Future[dict[str, Any]]) -> None:
        """Keep the lease while the task is executed; give it up when the server has."""
        until = task.lease_until
        while True:
            await asyncio.sleep(_before(until))
            try:
                # Without a time of its own a touch extends the lease, but not the action's limit.
                until = await self.client.runs.tasks.touch(task.task_id, worker_id=self.worker_id)
            except (errors.TaskNotFound, errors.TaskLeaseLost, errors.RunFinished) as gone:
                log.info("task %s is given up: %s", task.task_id, gone, extra=_about(task))
                executing.cancel()
                return
            except errors.InterlockError as lost:
                log.warning(
                    "the lease of task %s could not be extended: %s",
                    task.task_id,
                    lost,
                    extra=_about(task),
                )


def _before(until: datetime | None) -> float:
    """Return the pause until a lease is extended that ends then, in seconds."""
    if until is None:
        return TOUCH_EVERY
    left = (until - datetime.now(UTC)).total_seconds()
    return min(TOUCH_EVERY, max(TOUCH_PAUSE_MIN, left / 3))


def _about(task: Task) -> dict[str, str]:
    """Return the fields of a log record about a task."""
    return {"task_id": task.task_id, "handler": task.name}
