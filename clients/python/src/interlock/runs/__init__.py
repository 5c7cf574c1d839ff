"""Step workflows: definitions, runs, actions, tasks, workers and topics.

`client.runs` is a `Runs`. Every method raises what those of `Operations` raise.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal, cast

from interlock import errors
from interlock.api.requester import given
from interlock.run_records import Run, RunEvent, RunStatus, Signalled, Started
from interlock.runs.actions import Actions
from interlock.runs.bundles import Bundles
from interlock.runs.definitions import Definitions, Document
from interlock.runs.part import PAGE, Part, ms
from interlock.runs.tasks import Tasks
from interlock.runs.topics import PUBLISHED_AT_ONCE, Topics
from interlock.runs.workers import Workers

if TYPE_CHECKING:
    from interlock.api.payloads import (
        RunCancelRequest,
        RunHistoryGetRequest,
        RunHistorySubscribeRequest,
        RunsGetRequest,
        RunStartRequest,
    )
    from interlock.operations import Operations

__all__ = [
    "PAGE",
    "PUBLISHED_AT_ONCE",
    "Actions",
    "Bundles",
    "Definitions",
    "Document",
    "Runs",
    "Tasks",
    "Topics",
    "Workers",
]

log = logging.getLogger("interlock")

# The delay between two attempts to resume following, in seconds: doubling, with jitter.
_FIRST_DELAY = 0.1
_LONGEST_DELAY = 5.0


class Runs(Part):
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
        request: RunStartRequest = {
            "namespace": self._namespace,
            "definition": definition,
            "version": version,
            "input": input,
            "idempotencyKey": idempotency_key,
            "runId": run_id,
            "waitMs": ms(wait),
        }
        return Started.read(await self._api.run_start(given(request)))

    async def get(self, run_id: str) -> Run:
        """Read a run.

        Raises:
            RunNotFound: there is none.

        """
        return Run.read((await self._api.run_get({"runId": run_id}))["run"])

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
        request: RunsGetRequest = {
            "namespace": self._namespace,
            "definition": definition,
            "version": version,
            "kind": kind,
            "status": list(status) or None,
            "search": search,
            "attributes": list(attributes) or None,
            "entityId": entity_id,
            "parentRunId": parent_run_id,
        }
        async with aclosing(
            self._items(
                self._api.runs_get,
                given(request),
                limit,
            )
        ) as items:
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
        return Signalled.read(
            await self._api.run_signal(
                {"runId": run_id, "type": type, "payload": payload}, idempotency_key=idempotency_key
            )
        )

    async def cancel(self, run_id: str, reason: str | None = None) -> RunStatus:
        """Cancel a run and its children; return its status then.

        Raises:
            RunNotFound: there is no such run.
            RunFinished: it has ended.

        """
        payload: RunCancelRequest = {"runId": run_id, "reason": reason}
        payload = given(payload)
        return cast(RunStatus, (await self._api.run_cancel(payload))["status"])

    async def history(self, run_id: str, from_sequence: int = 0) -> AsyncGenerator[RunEvent, None]:
        """Read the events of a run after a sequence that are there now, oldest first.

        Raises:
            RunNotFound: there is no such run.

        """
        while True:
            payload: RunHistoryGetRequest = {
                "runId": run_id,
                "fromSequence": from_sequence,
                "limit": PAGE,
            }
            page = await self._api.run_history_get(payload)
            for item in page["items"]:
                event = RunEvent.read(item)
                from_sequence = event.sequence
                yield event
            # A page with large events has fewer of them than it may have.
            if not page["pagination"]["hasNext"]:
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
        wanted: RunHistorySubscribeRequest
        if run_id is not None:
            wanted = {"runId": run_id}
        else:
            wanted = {"namespace": self._namespace, "definition": definition}
            wanted = given(wanted)
        # Also if it is not needed: it shows whether the server is reachable.
        newest = 0 if run_id is not None else await self._newest(wanted)
        reached = newest if from_sequence is None else from_sequence
        if run_id is not None:
            await self.get(run_id)
        delay = _FIRST_DELAY
        while True:
            wanted["fromSequence"] = reached
            came = False
            try:
                async with aclosing(self._api.run_history_subscribe(wanted)) as answers:
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

    async def _newest(self, wanted: RunHistorySubscribeRequest) -> int:
        # The rejection of a position that does not exist yet names the newest one.
        never: RunHistorySubscribeRequest = {**wanted, "fromSequence": 2**63 - 1}
        try:
            async with aclosing(self._api.run_history_subscribe(never)) as answers:
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
