"""Executions of actions."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from interlock.api.requester import given
from interlock.run_records import Reported, Task
from interlock.runs.part import Part, ms

if TYPE_CHECKING:
    from interlock.api.payloads import (
        TaskAwaitRequest,
        TaskCompleteRequest,
        TaskFailRequest,
        TaskFailRequestError,
        TasksGetRequest,
        TaskTouchRequest,
    )


class Tasks(Part):
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
        request: TasksGetRequest = {
            "namespace": self._namespace,
            "name": name,
            "status": list(status) or None,
            "runId": run_id,
        }
        async with aclosing(
            self._items(
                self._api.tasks_get,
                given(request),
                limit,
            )
        ) as items:
            async for item in items:
                yield Task.read(item)

    async def get(self, task_id: str) -> Task:
        """Read a task.

        Raises:
            TaskNotFound: there is none.

        """
        return Task.read((await self._api.task_get({"taskId": task_id}))["task"])

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
        request: TaskAwaitRequest = {
            "namespace": self._namespace,
            "workerId": worker_id,
            "actions": list(actions),
            "max": most,
            "blockMs": ms(wait),
        }
        answer = await self._api.task_await(given(request))
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
        request: TaskCompleteRequest = {
            "taskId": task_id,
            "output": output,
            "outcome": outcome,
            "workerId": worker_id,
        }
        return Reported.read(await self._api.task_complete(given(request)))

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
        error: TaskFailRequestError = {"message": message}
        if code is not None:
            error["code"] = code
        request: TaskFailRequest = {
            "taskId": task_id,
            "error": error,
            "retry": retry or None,
            "output": output,
            "workerId": worker_id,
        }
        return Reported.read(await self._api.task_fail(given(request)))

    async def touch(
        self,
        task_id: str,
        *,
        extend: timedelta | None = None,
        progress: Any = None,
        worker_id: str | None = None,
    ) -> datetime:
        """Extend the lease of a task, or its deadline on a stream; return until when.

        Without `extend` a lease is extended by 30 s, but not beyond the limit of the action.

        Raises:
            TaskNotFound: there is none.
            TaskLeaseLost: another worker has it now.
            RunFinished: its run has ended; give it up.

        """
        request: TaskTouchRequest = {
            "taskId": task_id,
            "extendMs": ms(extend),
            "progress": progress,
            "workerId": worker_id,
        }
        return datetime.fromisoformat((await self._api.task_touch(given(request)))["until"])
