"""Step workflows: definitions, runs, actions, tasks, workers and topics.

`client.runs` is a `Runs`. Every method raises what those of `Operations` raise.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import aclosing
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal

from interlock import errors
from interlock.run_records import (
    Action,
    Bundle,
    CreatedDefinition,
    Definition,
    Fired,
    Machine,
    NewEvent,
    Plan,
    Reported,
    Run,
    RunEvent,
    RunStatus,
    Signalled,
    Started,
    Task,
    TopicEvent,
    Validated,
    WorkerState,
)

if TYPE_CHECKING:
    from interlock.operations import Operations

Document = str | Mapping[str, Any]
"""A document: YAML or JSON as text, or the same as a value."""

PAGE = 1000
"""How many items of a list are requested at a time: the server's maximum."""

PUBLISHED_AT_ONCE = 1000
"""How many events one request publishes: the server's maximum."""

log = logging.getLogger("interlock")

# The delay between two attempts to resume following, in seconds: doubling, with jitter.
_FIRST_DELAY = 0.1
_LONGEST_DELAY = 5.0


class _Part:
    """What asks in a namespace."""

    def __init__(self, operations: Operations, namespace: str | None) -> None:
        self._operations = operations
        self._namespace = namespace

    def _here(self, **members: Any) -> dict[str, Any]:
        """Return a payload without the members that are None, with the namespace."""
        return _given(namespace=self._namespace, **members)

    async def _call(
        self, event_type: str, payload: Mapping[str, Any], key: str | None = None
    ) -> dict[str, Any]:
        return await self._operations.call(event_type, payload, idempotency_key=key)

    async def _items(
        self, event_type: str, payload: Mapping[str, Any], limit: int | None = None
    ) -> AsyncGenerator[dict[str, Any], None]:
        """Read the items of all pages, or so many of them."""
        cursor: str | None = None
        left = limit
        while left is None or left > 0:
            page = PAGE if left is None else min(PAGE, left)
            answer = await self._call(
                event_type, {**payload, "limit": page} | _given(cursor=cursor)
            )
            for item in answer["items"]:
                yield item
            left = None if left is None else left - len(answer["items"])
            pagination = answer.get("pagination") or {}
            cursor = pagination.get("nextCursor")
            if not pagination.get("hasNext") or cursor is None:
                return


class Definitions(_Part):
    """The definitions that runs follow: `client.runs.definitions`."""

    async def create(
        self, document: Document, *, idempotency_key: str | None = None
    ) -> CreatedDefinition:
        """Create a version of a workflow, or replace it; live runs keep theirs.

        Raises:
            ValidationError: the document has errors; all findings are in
                `properties["findings"]`.

        """
        payload = self._here(document=document)
        answer = await self._call("RunDefinitionCreateRequest", payload, idempotency_key)
        return CreatedDefinition.read(answer)

    async def validate(self, document: Document) -> Validated:
        """Return all findings about a document; nothing is created."""
        payload = self._here(document=document)
        return Validated.read(await self._call("RunDefinitionValidateRequest", payload))

    async def list(
        self, *, kind: Literal["flo", "saga"] | None = None
    ) -> AsyncGenerator[Definition, None]:
        """List the definitions by name."""
        async with aclosing(
            self._items("RunDefinitionsGetRequest", self._here(kind=kind))
        ) as items:
            async for item in items:
                yield Definition.read(item)

    async def get(self, name: str, version: str | None = None) -> Definition:
        """Read a definition, with its document.

        Raises:
            RunDefinitionNotFound: there is none.

        """
        payload = self._here(name=name, version=version)
        return Definition.read(await self._call("RunDefinitionGetRequest", payload))

    async def enable(self, name: str, version: str | None = None) -> None:
        """Accept starts again.

        Raises:
            RunDefinitionNotFound: there is none.

        """
        payload = self._here(name=name, version=version, enabled=True)
        await self._call("RunDefinitionSetEnabledRequest", payload)

    async def disable(self, name: str, version: str | None = None) -> None:
        """Refuse starts, and pause its schedule and trigger; live runs continue.

        Raises:
            RunDefinitionNotFound: there is none.

        """
        payload = self._here(name=name, version=version, enabled=False)
        await self._call("RunDefinitionSetEnabledRequest", payload)

    async def delete(self, name: str, version: str | None = None) -> int:
        """Delete all versions or one; return how many. Live runs continue.

        Raises:
            RunDefinitionNotFound: there is none.

        """
        payload = self._here(name=name, version=version)
        return int((await self._call("RunDefinitionDeleteRequest", payload))["deleted"])

    async def plan(self, name: str, plan: str) -> Plan:
        """Return how the executors of a plan fare: scores, breakers, rates.

        Raises:
            RunDefinitionNotFound: there is none, or it has no such plan.

        """
        payload = self._here(definition=name, plan=plan)
        return Plan.read(await self._call("PlanGetRequest", payload))


class Bundles(_Part):
    """Sagas and state machines, in HCL files applied together: `client.runs.bundles`."""

    async def apply(
        self,
        files: Mapping[str, str],
        *,
        bundle: str | None = None,
        variables: Mapping[str, str] | None = None,
        dry_run: bool = False,
        idempotency_key: str | None = None,
    ) -> Bundle:
        """Replace a bundle by these texts, which are named by their paths.

        `variables` are the values of `env("NAME")`; the server seals them. A dry run stores
        nothing.

        Raises:
            ValidationError: the files have errors; all findings are in
                `properties["findings"]`.

        """
        payload = self._here(
            bundle=bundle,
            files=[{"path": path, "text": text} for path, text in files.items()],
            variables=None if variables is None else dict(variables),
            dryRun=dry_run or None,
        )
        return Bundle.read(await self._call("BundleApplyRequest", payload, idempotency_key))

    async def list(self) -> AsyncGenerator[Bundle, None]:
        """List the bundles by name."""
        async with aclosing(self._items("BundlesGetRequest", self._here())) as items:
            async for item in items:
                yield Bundle.read(item)

    async def get(self, bundle: str) -> Bundle:
        """Read a bundle, with its files.

        Raises:
            BundleNotFound: there is none.

        """
        return Bundle.read(await self._call("BundleGetRequest", self._here(bundle=bundle)))

    async def delete(self, bundle: str) -> None:
        """Delete a bundle; live runs continue.

        Raises:
            BundleNotFound: there is none.

        """
        await self._call("BundleDeleteRequest", self._here(bundle=bundle))

    async def machines(self) -> AsyncGenerator[Machine, None]:
        """List the state machines of all bundles by name."""
        async with aclosing(self._items("MachinesGetRequest", self._here())) as items:
            async for item in items:
                yield Machine.read(item)

    async def fire(
        self,
        machine: str,
        entity: str,
        entity_id: str,
        event: str,
        data: Mapping[str, Any] | None = None,
        *,
        connector: str | None = None,
        idempotency_key: str | None = None,
    ) -> Fired:
        """Fire an event of a state machine for a row of a table, or for an entity.

        Args:
            machine: the name of the state machine.
            entity: the table or, if the connector is no database, the model.
            entity_id: the id of the row or the entity.
            event: as the state names it after `on`.
            data: what guards and actions read as `input`.
            connector: the database; that of the first flow that names the machine, if absent.
            idempotency_key: the same for all repeats of this call.

        Raises:
            MachineNotFound: there is none.
            EntityNotFound: there is no such row or entity.
            TransitionNotFound: the state does not have the event.
            FinalState: no event leads out of the state.
            GuardRejected: the guard does not hold for the data.

        """
        payload = self._here(
            machine=machine,
            entity=entity,
            entityId=entity_id,
            event=event,
            data=None if data is None else dict(data),
            connector=connector,
        )
        return Fired.read(await self._call("MachineTransitionRequest", payload, idempotency_key))


class Actions(_Part):
    """What steps call: `client.runs.actions`."""

    async def register(
        self,
        name: str,
        *,
        dispatch: Literal["task", "processor"] | None = None,
        tags: Sequence[str] = (),
        owner: str | None = None,
        description: str | None = None,
        context: str | None = None,
        timeout: timedelta | None = None,
        max_retries: int | None = None,
        retry_delay: timedelta | None = None,
        wait: timedelta | None = None,
        enabled: bool | None = None,
        wasm: Mapping[str, Any] | None = None,
    ) -> int:
        """Register an action, or another version of it; return the version.

        Args:
            name: as steps name it after `@actions/`.
            dispatch: `processor` sends processor requests to members that know nothing of tasks.
            tags: those that a member needs.
            owner: who answers for it.
            description: for people.
            context: handed to the member as it is.
            timeout: how long one execution may take; 30 s by default.
            max_retries: how often a failure that is retryable is repeated; 3 times by default.
            retry_delay: before the first repetition; doubled for each one after it.
            wait: how long it waits for a member or worker that takes it.
            enabled: False registers it disabled.
            wasm: a module that the server runs itself: `{"module": <base64>}`.

        """
        payload = self._here(
            name=name,
            type="wasm" if wasm is not None else None,
            dispatch=dispatch,
            tags=list(tags) or None,
            owner=owner,
            description=description,
            context=context,
            timeoutMs=_ms(timeout),
            maxRetries=max_retries,
            retryDelayMs=_ms(retry_delay),
            waitMs=_ms(wait),
            enabled=enabled,
            wasm=wasm,
        )
        return int((await self._call("ActionRegisterRequest", payload))["version"])

    async def list(self) -> AsyncGenerator[Action, None]:
        """List the actions by name."""
        async with aclosing(self._items("ActionsGetRequest", self._here())) as items:
            async for item in items:
                yield Action.read(item)

    async def get(self, name: str) -> Action:
        """Read an action.

        Raises:
            ActionNotFound: there is none.

        """
        return Action.read(await self._call("ActionGetRequest", self._here(name=name)))

    async def enable(self, name: str, *, enabled: bool = True) -> None:
        """Execute an action again, or no longer; open tasks continue.

        Raises:
            ActionNotFound: there is none.

        """
        await self._call("ActionSetEnabledRequest", self._here(name=name, enabled=enabled))

    async def delete(self, name: str) -> None:
        """Delete an action; open tasks continue.

        Raises:
            ActionNotFound: there is none.

        """
        await self._call("ActionDeleteRequest", self._here(name=name))

    async def invoke(
        self,
        name: str,
        input: Any = None,  # noqa: A002
        *,
        wait: timedelta | None = None,
        priority: int | None = None,
        delay: timedelta | None = None,
        labels: Mapping[str, str] | None = None,
        idempotency_key: str | None = None,
    ) -> Task:
        """Execute an action without a run; with `wait`, wait so long for its end.

        Raises:
            ActionNotFound: there is none.
            ActionDisabled: it is disabled.

        """
        payload = self._here(
            name=name,
            input=input,
            waitMs=_ms(wait),
            priority=priority,
            delayMs=_ms(delay),
            labels=labels,
            idempotencyKey=idempotency_key,
        )
        return Task.read((await self._call("ActionInvokeRequest", payload))["task"])


class Tasks(_Part):
    """Executions of actions: `client.runs.tasks`."""

    async def list(
        self,
        *,
        name: str | None = None,
        status: Sequence[str] = (),
        run_id: str | None = None,
        limit: int | None = None,
    ) -> AsyncGenerator[Task, None]:
        """List tasks, newest first."""
        payload = self._here(name=name, status=list(status) or None, runId=run_id)
        async with aclosing(self._items("TasksGetRequest", payload, limit)) as items:
            async for item in items:
                yield Task.read(item)

    async def get(self, task_id: str) -> Task:
        """Read a task.

        Raises:
            TaskNotFound: there is none.

        """
        return Task.read((await self._call("TaskGetRequest", {"taskId": task_id}))["task"])

    async def take(
        self,
        worker_id: str,
        actions: Sequence[str],
        *,
        wait: timedelta | None = None,
        most: int = 1,
    ) -> Sequence[Task]:
        """Wait for tasks as a worker; none when the time is over. `Worker` does it by itself.

        Raises:
            WorkerNotFound: register it first.

        """
        payload = self._here(workerId=worker_id, actions=list(actions), max=most)
        answer = await self._call("TaskAwaitRequest", payload | _given(blockMs=_ms(wait)))
        return [Task.read(task) for task in answer["tasks"]]

    async def complete(
        self,
        task_id: str,
        output: Any = None,
        *,
        outcome: str | None = None,
        worker_id: str | None = None,
    ) -> Reported:
        """Report the outcome of a task, `success` unless another is given.

        Raises:
            TaskNotFound: there is none.
            TaskLeaseLost: another worker has it now.

        """
        payload = _given(taskId=task_id, output=output, outcome=outcome, workerId=worker_id)
        return Reported.read(await self._call("TaskCompleteRequest", payload))

    async def fail(
        self,
        task_id: str,
        message: str,
        *,
        code: str | None = None,
        retry: bool = False,
        output: Any = None,
        worker_id: str | None = None,
    ) -> Reported:
        """Report that a task failed; with `retry`, have it repeated as the action allows.

        Raises:
            TaskNotFound: there is none.
            TaskLeaseLost: another worker has it now.

        """
        error = _given(code=code, message=message)
        payload = _given(
            taskId=task_id, error=error, retry=retry or None, output=output, workerId=worker_id
        )
        return Reported.read(await self._call("TaskFailRequest", payload))

    async def touch(
        self,
        task_id: str,
        *,
        extend: timedelta | None = None,
        progress: Any = None,
        worker_id: str | None = None,
    ) -> None:
        """Extend the lease of a task, or its deadline on a stream.

        Raises:
            TaskNotFound: there is none.
            TaskLeaseLost: another worker has it now.
            RunFinished: its run has ended; give it up.

        """
        payload = _given(
            taskId=task_id, extendMs=_ms(extend), progress=progress, workerId=worker_id
        )
        await self._call("TaskTouchRequest", payload)


class Workers(_Part):
    """Who executes actions: `client.runs.workers`."""

    async def register(
        self,
        worker_id: str,
        actions: Sequence[str],
        *,
        max_concurrency: int | None = None,
        labels: Mapping[str, str] | None = None,
        machine_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> timedelta:
        """Register a worker; return how often it shall send a heartbeat."""
        payload = self._here(
            workerId=worker_id,
            actions=list(actions),
            maxConcurrency=max_concurrency,
            labels=labels,
            machineId=machine_id,
            metadata=metadata,
        )
        answer = await self._call("WorkerRegisterRequest", payload)
        return timedelta(milliseconds=answer["heartbeatMs"])

    async def heartbeat(self, worker_id: str, *, load: float | None = None) -> bool:
        """Say that a worker is alive; return whether it shall drain.

        Raises:
            WorkerNotFound: register it again.

        """
        payload = self._here(workerId=worker_id, load=load)
        return bool((await self._call("WorkerHeartbeatRequest", payload))["draining"])

    async def drain(self, worker_id: str) -> None:
        """Give a worker no more tasks.

        Raises:
            WorkerNotFound: there is none.

        """
        await self._call("WorkerDrainRequest", self._here(workerId=worker_id))

    async def deregister(self, worker_id: str) -> None:
        """Forget a worker.

        Raises:
            WorkerNotFound: there is none.

        """
        await self._call("WorkerDeregisterRequest", self._here(workerId=worker_id))

    async def list(self) -> AsyncGenerator[WorkerState, None]:
        """List the workers, and the members that announce actions."""
        async with aclosing(self._items("WorkersGetRequest", self._here())) as items:
            async for item in items:
                yield WorkerState.read(item)

    async def get(self, worker_id: str) -> WorkerState:
        """Read a worker.

        Raises:
            WorkerNotFound: there is none.

        """
        payload = self._here(workerId=worker_id)
        return WorkerState.read(await self._call("WorkerGetRequest", payload))


class Topics(_Part):
    """Ordered lists of events, whose triggers start runs: `client.runs.topics`."""

    async def publish(
        self,
        topic: str,
        events: Iterable[NewEvent | tuple[Any, ...]],
        *,
        idempotency_key: str | None = None,
    ) -> Sequence[int]:
        """Append events in one commit, 1000 at most; return their sequences."""
        published = [NewEvent(*event)._asdict() for event in events]
        payload = self._here(
            topic=topic,
            events=[{"payload": one.pop("payload"), **_given(**one)} for one in published],
        )
        answer = await self._call("TopicPublishRequest", payload, idempotency_key)
        return [int(sequence) for sequence in answer["sequences"]]

    async def read(self, topic: str, from_sequence: int = 0) -> AsyncGenerator[TopicEvent, None]:
        """Read the events after a sequence that are there now.

        Raises:
            TopicNotFound: there is none: a topic begins with its first event.

        """
        while True:
            payload = self._here(topic=topic, fromSequence=from_sequence, limit=PAGE)
            items = (await self._call("TopicGetRequest", payload))["items"]
            for item in items:
                event = TopicEvent.read(item)
                from_sequence = event.sequence
                yield event
            if len(items) < PAGE:
                return

    async def list(self) -> AsyncGenerator[dict[str, Any], None]:
        """List the topics by name."""
        async with aclosing(self._items("TopicsGetRequest", self._here())) as items:
            async for item in items:
                yield item


class Runs(_Part):
    """Durable executions of definitions: `client.runs`.

    In a compute member, `context.client.runs` starts and signals in the transaction of the call:
    what is started is committed with it, or not at all, and takes effect after it.
    """

    def __init__(self, operations: Operations, namespace: str | None = None) -> None:
        """Ask through `operations`, in a namespace; None is the server's default."""
        super().__init__(operations, namespace)
        self.definitions = Definitions(operations, namespace)
        self.bundles = Bundles(operations, namespace)
        self.actions = Actions(operations, namespace)
        self.tasks = Tasks(operations, namespace)
        self.workers = Workers(operations, namespace)
        self.topics = Topics(operations, namespace)

    def within(self, namespace: str) -> Runs:
        """Return the same for a namespace."""
        return Runs(self._operations, namespace)

    async def start(
        self,
        definition: str,
        input: Any = None,  # noqa: A002
        *,
        version: str | None = None,
        idempotency_key: str | None = None,
        run_id: str | None = None,
        wait: timedelta | None = None,
    ) -> Started:
        """Start a run.

        Args:
            definition: its name.
            input: what steps see as `$.input`; `{}` by default.
            version: the latest by default.
            idempotency_key: at most one run is started with it, whenever that is.
            run_id: an id of the caller's choice.
            wait: how long to wait for the end of the run, 30 s at most.

        Raises:
            RunDefinitionNotFound: there is no such definition.
            RunDefinitionDisabled: it takes no starts.
            RunExists: the id is taken.
            BadRequest: the definition requires an idempotency key.

        """
        payload = self._here(
            definition=definition,
            version=version,
            input=input,
            idempotencyKey=idempotency_key,
            runId=run_id,
            waitMs=_ms(wait),
        )
        return Started.read(await self._call("RunStartRequest", payload))

    async def get(self, run_id: str) -> Run:
        """Read a run.

        Raises:
            RunNotFound: there is none.

        """
        return Run.read((await self._call("RunGetRequest", {"runId": run_id}))["run"])

    async def list(
        self,
        definition: str | None = None,
        *,
        version: str | None = None,
        kind: Literal["flo", "saga", "manager"] | None = None,
        status: Sequence[RunStatus] = (),
        search: str | None = None,
        attributes: Sequence[str] = (),
        entity_id: str | None = None,
        parent_run_id: str | None = None,
        limit: int | None = None,
    ) -> AsyncGenerator[Run, None]:
        """List runs, newest first, without inputs, outputs, steps and signals.

        `attributes` are conditions on search attributes, such as `customer=C-7` or `amount>100`.
        """
        payload = self._here(
            definition=definition,
            version=version,
            kind=kind,
            status=list(status) or None,
            search=search,
            attributes=list(attributes) or None,
            entityId=entity_id,
            parentRunId=parent_run_id,
        )
        async with aclosing(self._items("RunsGetRequest", payload, limit)) as items:
            async for item in items:
                yield Run.read(item)

    async def signal(
        self,
        run_id: str,
        type: str,  # noqa: A002
        payload: Any = None,
        *,
        idempotency_key: str | None = None,
    ) -> Signalled:
        """Send a signal; one that the run does not wait for yet is kept.

        Raises:
            RunNotFound: there is no such run.
            RunFinished: it has ended.

        """
        request = {"runId": run_id, "type": type, "payload": payload}
        return Signalled.read(await self._call("RunSignalRequest", request, idempotency_key))

    async def cancel(self, run_id: str, reason: str | None = None) -> RunStatus:
        """Cancel a run and its children; return its status then.

        Raises:
            RunNotFound: there is no such run.
            RunFinished: it has ended.

        """
        payload = {"runId": run_id} | _given(reason=reason)
        status: RunStatus = (await self._call("RunCancelRequest", payload))["status"]
        return status

    async def history(self, run_id: str, from_sequence: int = 0) -> AsyncGenerator[RunEvent, None]:
        """Read the events of a run after a sequence that are there now, oldest first.

        Raises:
            RunNotFound: there is no such run.

        """
        while True:
            payload = {"runId": run_id, "fromSequence": from_sequence, "limit": PAGE}
            items = (await self._call("RunHistoryGetRequest", payload))["items"]
            for item in items:
                event = RunEvent.read(item)
                from_sequence = event.sequence
                yield event
            if len(items) < PAGE:
                return

    async def follow(
        self,
        run_id: str | None = None,
        *,
        definition: str | None = None,
        from_sequence: int | None = None,
    ) -> AsyncGenerator[RunEvent, None]:
        """Follow the events of a run until it ends, or of all runs, or of a definition's.

        Each event once, in order. With `run_id`, those after `from_sequence`, 0 by default;
        otherwise those after the position `from_sequence`, by default those from now on. After a
        lost connection it resumes after the last event that was yielded.

        It is a separate call, so it may be read slowly.

        Raises:
            RunNotFound: there is no such run.
            BadRequest: the server has not come as far as `from_sequence`.
            ConnectionLost: there is no connection in the beginning, or the client was closed.

        """
        wanted = {"runId": run_id} if run_id is not None else self._here(definition=definition)
        # Also if it is not needed: it shows whether the server is reachable.
        newest = 0 if run_id is not None else await self._newest(wanted)
        reached = newest if from_sequence is None else from_sequence
        if run_id is not None:
            await self.get(run_id)
        delay = _FIRST_DELAY
        while True:
            payload = wanted | {"fromSequence": reached}
            came = False
            try:
                answers = self._operations.listen("RunHistorySubscribeRequest", payload)
                async with aclosing(answers):
                    async for answer in answers:
                        if "eventType" not in answer:
                            continue
                        event = RunEvent.read(answer)
                        came, delay = True, _FIRST_DELAY
                        reached = event.sequence if run_id is not None else event.position
                        yield event
                        if run_id is not None and event.is_last:
                            return
                # A run that had ended before `from_sequence` has no more events.
                if run_id is not None and not came and (await self.get(run_id)).is_finished:
                    return
            except errors.ClientClosed:
                raise
            except (errors.ConnectionLost, errors.StorageUnavailable) as lost:
                log.warning("following runs ended after %d: %s; resuming", reached, lost)
            await asyncio.sleep(random.uniform(delay / 2, delay))
            delay = min(_LONGEST_DELAY, 2 * delay)

    async def _newest(self, wanted: Mapping[str, Any]) -> int:
        # The rejection of a position that does not exist yet names the newest one.
        never = {**wanted, "fromSequence": 2**63 - 1}
        try:
            answers = self._operations.listen("RunHistorySubscribeRequest", never)
            async with aclosing(answers):
                async for _answer in answers:
                    pass
        except errors.BadRequest as refused:
            return int(refused.properties["newest"])
        raise errors.ServerError("the server does not report its newest position")

    async def finished(self, run_id: str) -> Run:
        """Wait until a run has ended, and read it.

        Raises:
            RunNotFound: there is no such run.

        """
        async with aclosing(self.follow(run_id)) as history:
            async for _event in history:
                pass
        return await self.get(run_id)


def _given(**members: Any) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}


def _ms(span: timedelta | None) -> int | None:
    return None if span is None else -(-span // timedelta(milliseconds=1))
