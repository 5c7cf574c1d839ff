"""A compute member: runs the processors, criteria, schedules and actions of workflows."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar

import grpc

from interlock import answers, errors, events, tracing
from interlock.api.cloudevents_pb2 import CloudEvent
from interlock.calculation import (
    Calculation,
    Context,
    Kind,
    No,
    Rejected,
    Retryable,
    Schedule,
    refusal,
)
from interlock.connection import (
    CONNECT_TIMEOUT,
    IN_FLIGHT,
    MESSAGE_BYTES_MAX,
    Connection,
    Metadata,
    at_least_one,
)
from interlock.operations import Operations
from interlock.records import Entity
from interlock.signals import stopped_by_signals
from interlock.stream import Lane, Stream
from interlock.tasks import CANCEL, Outcome, Pending, TaskCall, TaskContext

Document = dict[str, Any]

Processor = TypeVar("Processor", bound=Callable[[Entity, Context], Awaitable[Document | None]])
DetachedProcessor = TypeVar(
    "DetachedProcessor", bound=Callable[[Context], Awaitable[Document | None]]
)
Criterion = TypeVar("Criterion", bound=Callable[[Entity, Context], Awaitable[bool | No]])
DetachedCriterion = TypeVar("DetachedCriterion", bound=Callable[[Context], Awaitable[bool | No]])
Scheduler = TypeVar("Scheduler", bound=Callable[[Entity, Context], Awaitable[Schedule]])
DetachedScheduler = TypeVar("DetachedScheduler", bound=Callable[[Context], Awaitable[Schedule]])
ActionResult = Outcome | Pending | Any
Action = TypeVar("Action", bound=Callable[[Any, TaskContext], Awaitable[ActionResult]])

_Attached = TypeVar("_Attached", bound=Callable[[Entity, Context], Awaitable[Any]])
_Detached = TypeVar("_Detached", bound=Callable[[Context], Awaitable[Any]])

WAITING_MAX = 1024
"""How many calculations and tasks may wait, besides as many as may run at once.

Further ones are rejected as retryable.
"""

NAMED_MAX = 10
"""How many of its functions a member names where one is missing."""

DRAIN_TIMEOUT = 2.0
"""How long a member that stops waits for the server to know that, in seconds."""

_STOPPING = Retryable("the member is stopping", code="MEMBER_STOPPING")

_CANCELLED = Rejected("the call was cancelled; it may have been done", code="CANCELLED")

log = logging.getLogger("interlock")


class Member:
    """Serves the calculations of one tenant, over one stream, until it is stopped.

        member = Member("localhost:9090", tags=["pricing"])

        @member.processor("price")
        async def price(entity: Entity, context: Context) -> dict[str, Any] | None:
            return {**entity.data, "price": entity.data["quantity"] * 3}

        asyncio.run(member.run())

    When the stream is lost, what is running is cancelled, because its transactions are gone, and
    the member joins again, however long it takes.
    """

    def __init__(
        self,
        target: str = "localhost:9090",
        *,
        tags: Iterable[str] = (),
        namespace: str | None = None,
        labels: Mapping[str, str] | None = None,
        concurrency: int = 64,
        metadata: Metadata | None = None,
        credentials: grpc.ChannelCredentials | None = None,
        in_flight: int = IN_FLIGHT,
        message_bytes_max: int = MESSAGE_BYTES_MAX,
        connect_timeout: float = CONNECT_TIMEOUT,
    ) -> None:
        """Prepare; nothing is connected yet.

        Args:
            target: where the server's gRPC port is, as `host:port`.
            tags: the member's tags; it is called for processors that require no others.
            namespace: of the actions that the member executes; None is the server's default.
            labels: what an invocation may ask for besides.
            concurrency: how many calculations run at once, and how many tasks besides; further ones
                wait. One that a running calculation has caused in its own transaction runs
                besides, because that one waits for it. When 1,024 more than the calculations and
                tasks that may run wait, further ones are rejected as retryable.
            metadata: as for `Client`; the caller needs the role `ROLE_M2M`. Whatever a coroutine
                function raises ends the member.
            credentials: as for `Client`.
            in_flight: as for `Client`; does not count what calculations ask.
            message_bytes_max: as for `Client`.
            connect_timeout: as for `Client`.

        Raises:
            InvalidOptions: as `Client`, or `concurrency` is not at least 1.

        """
        at_least_one("concurrency", concurrency)
        self._tags = list(tags)
        self._namespace = namespace
        self._labels = dict(labels or {})
        self._concurrency = concurrency
        self._places = asyncio.Semaphore(concurrency)
        # A task may cause calculations in its transaction, so it must not take their places.
        self._task_places = asyncio.Semaphore(concurrency)
        self._handlers: dict[tuple[Kind, str], Callable[[Any], Awaitable[Any]]] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._cancelled: set[str] = set()
        self._working: dict[asyncio.Task[None], Stream] = {}
        self._transactions: Counter[str] = Counter()
        self._greeting: asyncio.Future[CloudEvent] | None = None
        self._joined: tuple[Stream, str] | None = None
        self._joining: asyncio.Task[None] | None = None
        self._stopping = asyncio.Event()
        self._draining = asyncio.Lock()
        self._connection = Connection(
            target,
            metadata=metadata,
            credentials=credentials,
            in_flight=in_flight,
            message_bytes_max=message_bytes_max,
            connect_timeout=connect_timeout,
            greet=self._join,
            receive=self._receive,
        )
        self.client = Operations(self._connection)
        """All operations, on the member's stream but outside its transactions."""

    def processor(self, name: str) -> Callable[[Processor], Processor]:
        """Register the function that is the processor of that name.

        It is given the entity, in the state before the transition, and returns the whole new
        document, or None to leave it as it is. Whatever it raises fails the transition; see
        `Rejected` and `Retryable`.
        """
        return self._attached(Kind.PROCESSOR, name)

    def detached_processor(self, name: str) -> Callable[[DetachedProcessor], DetachedProcessor]:
        """Register a processor to which the workflow does not attach the entity.

        That is, one whose configuration says `attachEntity: false`; `Context.entity_id` says
        which entity it is.
        """
        return self._detached(Kind.PROCESSOR, name)

    def criterion(self, name: str) -> Callable[[Criterion], Criterion]:
        """Register the function that decides the function criterion of that name.

        It is given the entity as it would be written, and returns whether the criterion holds:
        True, False, or `No` with the reason. Whatever it raises is no decision: it fails the
        whole request, as a processor does.
        """
        return self._attached(Kind.CRITERION, name)

    def detached_criterion(self, name: str) -> Callable[[DetachedCriterion], DetachedCriterion]:
        """Register a criterion to which the workflow does not attach the entity."""
        return self._detached(Kind.CRITERION, name)

    def schedule(self, name: str) -> Callable[[Scheduler], Scheduler]:
        """Register the function that computes when a scheduled transition is due.

        It is called whenever an entity is written in the state that the transition leaves.
        Whatever it raises fails that write.
        """
        return self._attached(Kind.SCHEDULE, name)

    def detached_schedule(self, name: str) -> Callable[[DetachedScheduler], DetachedScheduler]:
        """Register a schedule to which the workflow does not attach the entity."""
        return self._detached(Kind.SCHEDULE, name)

    def action(self, name: str) -> Callable[[Action], Action]:
        """Register the function that executes the action of that name for step workflows.

        It is given the input of the step, and returns the output, as anything that has a form in
        JSON and commonly a mapping (None is `{}`), an
        `Outcome` with a name of its own, or `Pending`. Whatever it raises is the outcome
        `failure`; see `Rejected` and `Retryable`. Register actions before the member joins: the
        server receives their names then.

            @member.action("charge-payment")
            async def charge_payment(order: Any, context: TaskContext) -> dict[str, Any]:
                await context.client.create(("charge", 1), {"order": order["order_id"]})
                return {"charge_id": context.idempotency_key}
        """

        def register(function: Action) -> Action:
            async def handle(call: TaskCall) -> Any:
                return await function(call.input, call.context)

            self._handlers[Kind.ACTION, name] = handle
            return function

        return register

    def workflow(self, code: str) -> Callable[[Action], Action]:
        """Register the function that does the items of managers whose worker names that workflow.

        It is given the item's payload, with the `state_path`, and is otherwise as an action: what
        it returns ends the item `success`, what it raises `error`. The member needs no tag of its
        own for it. Register workflows before the member joins.

            @member.workflow("org.acme.flows:import-file")
            async def import_file(item: Any, context: TaskContext) -> None:
                await context.client.create(("trade", 1), item["trade"])
        """
        tag = f"workflow:{code}"
        if tag not in self._tags:
            self._tags.append(tag)
        return self.action(code)

    def _attached(self, kind: Kind, name: str) -> Callable[[_Attached], _Attached]:
        def register(function: _Attached) -> _Attached:
            async def handle(calculation: Calculation) -> Any:
                if calculation.entity is None:
                    raise Rejected(
                        f"the workflow does not attach the entity to `{name}`, which needs it"
                    )
                return await function(calculation.entity, calculation.context)

            self._handlers[kind, name] = handle
            return function

        return register

    def _detached(self, kind: Kind, name: str) -> Callable[[_Detached], _Detached]:
        def register(function: _Detached) -> _Detached:
            async def handle(calculation: Calculation) -> Any:
                return await function(calculation.context)

            self._handlers[kind, name] = handle
            return function

        return register

    async def run(self) -> None:
        """Serve until `stop` is called, or the process receives SIGTERM or SIGINT.

        Signals are received by the main thread only, and not on Windows.

        Running calculations are finished first. While the server cannot be reached this continues
        trying.

        Raises:
            Unauthorized, Forbidden: the server does not take this caller as a member.

        """
        with stopped_by_signals(self._stopping.set):
            self._joining = asyncio.create_task(self._stay_joined())
            stopping = asyncio.create_task(self._stopping.wait())
            try:
                await asyncio.wait((self._joining, stopping), return_when=asyncio.FIRST_COMPLETED)
                if self._joining.done():
                    self._joining.result()
            finally:
                stopping.cancel()
                await self.stop()

    async def stop(self, timeout: float = 30.0) -> None:
        """Finish running calculations, for that many seconds at most, and disconnect.

        First the server is told to send no more calls, so that it asks other members. A call that
        comes all the same is not begun, but answered as retryable.
        """
        self._stopping.set()
        async with self._draining:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(timeout):
                    await self._leave()
                    while self._working:
                        await asyncio.wait(self._working)
            self._give_up()
            if self._joining is not None:
                self._joining.cancel()
                await asyncio.gather(self._joining, return_exceptions=True)
            await self._connection.close()

    async def _leave(self) -> None:
        """Tell the server to send no more calls; calls are refused even if it does not know."""
        if self._joined is None:
            return
        stream, member_id = self._joined
        with contextlib.suppress(errors.InterlockError, TimeoutError):
            async with asyncio.timeout(DRAIN_TIMEOUT):
                # Neither requests of the program nor those of calculations delay it.
                drain = await stream.ask(events.DRAIN, {"workerId": member_id}, Lane(1))
                async with drain:
                    await drain.next()

    async def __aenter__(self) -> Self:
        """Join, and serve in the background.

        Raises:
            ConnectionLost: the server cannot be reached within the connect timeout.
            Unauthorized, Forbidden: the server does not take this caller as a member.

        """
        await self._connection.connect()
        await self._connection.stream()
        self._joining = asyncio.create_task(self._stay_joined())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.stop()

    async def _stay_joined(self) -> None:
        while True:
            try:
                stream = await self._connection.stream_eventually()
            except Exception as error:
                target = self._connection.target
                log.error("cannot join %s: %s", target, error, extra={"target": target})
                raise
            await stream.ended()
            self._give_up(stream)

    def _give_up(self, stream: Stream | None = None) -> None:
        """End the calculations of a stream, or all."""
        for task, its_stream in self._working.items():
            if stream is None or its_stream is stream:
                task.cancel()

    async def _join(self, stream: Stream) -> None:
        self._greeting = asyncio.get_running_loop().create_future()
        stream.send(events.event(events.JOIN, {"tags": self._tags} | self._announced()))
        greeting = events.answer(await stream.first(self._greeting))
        target, member_id = self._connection.target, greeting["memberId"]
        self._joined = stream, member_id
        about = {"target": target, "member_id": member_id, "tags": self._tags}
        log.info("joined %s as member %s", target, member_id, extra=about)

    def _announced(self) -> dict[str, Any]:
        """Return what the server has to know of a member that executes actions."""
        actions = sorted(name for kind, name in self._handlers if kind is Kind.ACTION)
        if not actions:
            return {}
        announced = {"actions": actions, "maxConcurrency": self._concurrency}
        if self._labels:
            announced["labels"] = self._labels
        if self._namespace is not None:
            announced["namespace"] = self._namespace
        return announced

    def _receive(self, stream: Stream, event: CloudEvent) -> None:
        try:
            if event.type == events.KEEP_ALIVE:
                probe = events.payload(event)["id"]
                stream.send(
                    events.event(events.ACKNOWLEDGEMENT, {"sourceEventId": probe, "success": True})
                )
            elif event.type == events.GREETING and self._greeting is not None:
                self._greeting.set_result(event)
            elif Calculation.is_asked_by(event):
                self._begin(stream, Calculation.read(event, stream))
            elif TaskCall.is_asked_by(event):
                self._begin_task(stream, TaskCall.read(event, stream))
            elif event.type == CANCEL:
                self._cancel_task(events.payload(event))
        except Exception as error:
            # One invalid event is no reason to end the stream.
            about = {"event_type": event.type, "event_id": event.id}
            log.exception("an event of the server could not be read: %s", event.type, extra=about)
            is_call = Calculation.is_asked_by(event) or TaskCall.is_asked_by(event)
            if is_call and (answer := refusal(event, error)) is not None:
                stream.send(answer)

    def _busy(self) -> Retryable | None:
        """Return why nothing more is taken."""
        most = WAITING_MAX + 2 * self._concurrency
        if len(self._working) < most:
            return None
        return Retryable(f"this member already has {most} calls in flight")

    def _begin(self, stream: Stream, calculation: Calculation) -> None:
        # A running calculation waits for those it has caused in its transaction: were they to
        # wait for its place, or to be left when the member stops, neither would ever end.
        # Of a task the transaction is not known, so while there are tasks any may be one of those.
        is_nested = calculation.context.transaction_id in self._transactions
        if self._stopping.is_set() and not is_nested and not self._tasks:
            stream.send(calculation.failed(_STOPPING))
            return
        if (busy := self._busy()) is not None:
            stream.send(calculation.failed(busy))
            return
        limit = calculation.time_limit
        until = None if limit is None else asyncio.get_running_loop().time() + limit
        work = self._work(stream, calculation, until, is_nested=is_nested)
        task = asyncio.create_task(work)
        self._working[task] = stream
        task.add_done_callback(self._working.pop)

    def _begin_task(self, stream: Stream, call: TaskCall) -> None:
        if self._stopping.is_set():
            stream.send(call.failed(_STOPPING))
            return
        if (busy := self._busy()) is not None:
            stream.send(call.failed(busy))
            return
        task = asyncio.create_task(self._work_on_task(stream, call))
        self._tasks[call.id] = task
        self._working[task] = stream
        task.add_done_callback(self._working.pop)
        task.add_done_callback(lambda task: self._task_ended(stream, call, task))

    def _task_ended(self, stream: Stream, call: TaskCall, task: asyncio.Task[None]) -> None:
        self._tasks.pop(call.id, None)
        is_cancelled = call.id in self._cancelled
        self._cancelled.discard(call.id)
        if is_cancelled and task.cancelled() and call.is_connector_call:
            stream.send(call.failed(_CANCELLED))

    async def _work_on_task(self, stream: Stream, call: TaskCall) -> None:
        async with self._task_places:
            answer = await self._calculate(stream, call)
            if call.id in self._cancelled:
                # It was not cancelled in the end. Whether a call that failed was done is not known.
                if not call.is_connector_call:
                    return
                if not events.payload(answer)["success"]:
                    answer = _failed(stream, call, _CANCELLED)
            stream.send(answer)

    def _cancel_task(self, payload: Mapping[str, Any]) -> None:
        """Give up a task that the server has given up.

        It expects an answer to a call of a saga only, which it repeats and undoes then.
        """
        if (task := self._tasks.get(payload["requestId"])) is not None:
            self._cancelled.add(payload["requestId"])
            about = {"task_id": payload["taskId"], "reason": payload.get("reason", "")}
            log.info("task %(task_id)s was cancelled: %(reason)s", about, extra=about)
            task.cancel()

    async def _work(
        self, stream: Stream, calculation: Calculation, until: float | None, *, is_nested: bool
    ) -> None:
        """Calculate, unless the server has given it up by then: it expects no answer."""
        is_begun = False
        try:
            async with (
                asyncio.timeout_at(until),
                contextlib.nullcontext() if is_nested else self._places,
            ):
                if until is not None and asyncio.get_running_loop().time() >= until:
                    raise TimeoutError
                is_begun = True
                with self._in_transaction(calculation.context.transaction_id):
                    stream.send(await self._calculate(stream, calculation))
        except TimeoutError:
            name, kind = calculation.context.name, calculation.kind.name.lower()
            about = {"kind": kind, "handler": name, "request_id": calculation.id}
            how = "cancelled" if is_begun else "not begun"
            log.debug("%s %s was %s: its time was up", kind, name, how, extra=about)

    @contextlib.contextmanager
    def _in_transaction(self, transaction: str | None) -> Any:
        if transaction is None:
            yield
            return
        self._transactions[transaction] += 1
        try:
            yield
        finally:
            self._transactions[transaction] -= 1
            if self._transactions[transaction] == 0:
                del self._transactions[transaction]

    async def _calculate(self, stream: Stream, calculation: Calculation | TaskCall) -> CloudEvent:
        """Run a calculation, and return the response."""
        name = calculation.context.name
        kind = calculation.kind.name.lower()
        handler = self._handlers.get((calculation.kind, name))
        about = {"kind": kind, "handler": name, "request_id": calculation.id}
        try:
            if handler is None:
                raise Retryable(self._without(calculation.kind, name))
            with tracing.handling(kind, name, calculation.trace):
                answer = calculation.done(await handler(calculation))
                stream.check_size(answer)
        except (Rejected, errors.InterlockError) as error:
            log.info("%s %s failed: %s", kind, name, error, extra=about)
            return _failed(stream, calculation, error)
        except BaseException as error:
            if answers.is_given_up(error):
                raise
            log.exception("%s %s failed", kind, name, extra=about)
            return _failed(stream, calculation, error)
        return answer

    def _without(self, kind: Kind, name: str) -> str:
        """Say that a function is missing, and which there are."""
        known = sorted(name for other, name in self._handlers if other is kind)
        named = ", ".join(f"`{name}`" for name in known[:NAMED_MAX]) or "none"
        more = ", …" if len(known) > NAMED_MAX else ""
        member_id = self._joined[1] if self._joined is not None else ""
        return (
            f"this member has no {kind.name.lower()} `{name}`; member {member_id} has {named}{more}"
        )


def _failed(
    stream: Stream, calculation: Calculation | TaskCall, error: BaseException
) -> CloudEvent:
    """Answer that it failed; without the warnings, if the answer is too large with them."""
    answer = calculation.failed(error)
    try:
        stream.check_size(answer)
    except errors.MessageTooLarge:
        calculation.context.warnings.clear()
        answer = calculation.failed(error)
    return answer
