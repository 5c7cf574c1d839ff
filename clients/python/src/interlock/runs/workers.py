"""Who executes actions."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from interlock.api.requester import given
from interlock.run_records import WorkerState
from interlock.runs.part import Part

if TYPE_CHECKING:
    from interlock.api.payloads import (
        WorkerDeregisterRequest,
        WorkerDrainRequest,
        WorkerGetRequest,
        WorkerHeartbeatRequest,
        WorkerRegisterRequest,
        WorkersGetRequest,
    )


class Workers(Part):
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
        request: WorkerRegisterRequest = {
            "namespace": self._namespace,
            "workerId": worker_id,
            "actions": list(actions),
            "maxConcurrency": max_concurrency,
            "labels": labels,
            "machineId": machine_id,
            "metadata": metadata,
        }
        answer = await self._api.worker_register(given(request))
        return timedelta(milliseconds=answer["heartbeatMs"])

    async def heartbeat(self, worker_id: str, *, load: float | None = None) -> bool:
        """Say that a worker is alive; return whether it shall drain.

        Raises:
            WorkerNotFound: register it again.

        """
        request: WorkerHeartbeatRequest = {
            "namespace": self._namespace,
            "workerId": worker_id,
            "load": load,
        }
        return bool((await self._api.worker_heartbeat(given(request)))["draining"])

    async def drain(self, worker_id: str) -> None:
        """Give a worker no more tasks.

        Raises:
            WorkerNotFound: there is none.

        """
        request: WorkerDrainRequest = {"namespace": self._namespace, "workerId": worker_id}
        await self._api.worker_drain(given(request))

    async def deregister(self, worker_id: str) -> None:
        """Forget a worker.

        Raises:
            WorkerNotFound: there is none.

        """
        request: WorkerDeregisterRequest = {"namespace": self._namespace, "workerId": worker_id}
        await self._api.worker_deregister(given(request))

    async def list(self) -> AsyncGenerator[WorkerState, None]:
        """List the workers, and the members that announce actions."""
        request: WorkersGetRequest = {"namespace": self._namespace}
        async with aclosing(self._items(self._api.workers_get, given(request))) as items:
            async for item in items:
                yield WorkerState.read(item)

    async def get(self, worker_id: str) -> WorkerState:
        """Read a worker.

        Raises:
            WorkerNotFound: there is none.

        """
        request: WorkerGetRequest = {"namespace": self._namespace, "workerId": worker_id}
        return WorkerState.read(await self._api.worker_get(given(request)))
