"""Managers: batches kept in files, whose items workers do.

`client.managers` is a `Managers`. Every method raises what those of `Operations` raise. What
members do for items is `Member.workflow`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from interlock.api.operations import Api
from interlock.api.requester import given
from interlock.runs.part import PAGE

if TYPE_CHECKING:
    from interlock.api import payloads
    from interlock.api.payloads import (
        ManagerControlRequest,
        ManagerCreateRequest,
        ManagerGetRequest,
        ManagersGetRequest,
        ManagerTickRequest,
    )
    from interlock.operations import Operations


@dataclass(frozen=True, slots=True)
class Manager:
    """A manager with its document."""

    name: str
    """The name of its file."""
    document: Any
    version: str


@dataclass(frozen=True, slots=True)
class ListedManager:
    """A manager without its document."""

    manager: str
    """The name of its file."""
    name: str | None
    status: str | None
    workers: dict[str, int]
    """How many there are, by status and as `total`."""
    version: str | None
    error: str | None
    """Why its file is not a manager."""

    @classmethod
    def read(cls, payload: payloads.ListedManager) -> ListedManager:
        """Read it from a payload."""
        return cls(
            payload["manager"],
            payload.get("name"),
            payload.get("status"),
            dict(payload.get("workers") or {}),
            payload.get("version"),
            payload.get("error"),
        )


@dataclass(frozen=True, slots=True)
class StartedItem:
    """An item whose work a tick has started."""

    worker: int | None
    """The order of its worker."""
    item: int
    run_id: str | None
    task_id: str | None

    @classmethod
    def read(cls, payload: payloads.StartedItem) -> StartedItem:
        """Read it from a payload."""
        return cls(
            payload.get("worker"), payload["item"], payload.get("runId"), payload.get("taskId")
        )


@dataclass(frozen=True, slots=True)
class TickedManager:
    """What a tick has done with a manager."""

    manager: str
    status: str | None
    is_changed: bool
    started: tuple[StartedItem, ...]
    error: str | None

    @classmethod
    def read(cls, payload: payloads.ManagerTicked) -> TickedManager:
        """Read it from a payload."""
        return cls(
            payload["manager"],
            payload.get("status"),
            bool(payload.get("changed")),
            tuple(StartedItem.read(item) for item in payload.get("started", ())),
            payload.get("error"),
        )


@dataclass(frozen=True, slots=True)
class Tick:
    """A tick: how all managers stand, and what was done with each that was processed."""

    registry: dict[str, list[str]]
    """The names of files by status."""
    processed: tuple[TickedManager, ...]


class Managers:
    """Managers of a namespace: `client.managers`."""

    def __init__(self, operations: Operations, namespace: str | None = None) -> None:
        """Ask through `operations`, in a namespace; None is the server's default."""
        self._operations = operations
        self._namespace = namespace

    @property
    def _api(self) -> Api:
        return self._operations.api

    def within(self, namespace: str) -> Managers:
        """Return the same for a namespace."""
        return Managers(self._operations, namespace)

    async def create(self, document: Any, *, idempotency_key: str | None = None) -> str:
        """Store a manager; return the name of its file, which has a stamp.

        Raises:
            BadRequest: the document is not a manager.

        """
        request: ManagerCreateRequest = {"document": document}
        if self._namespace is not None:
            request["namespace"] = self._namespace
        answer = await self._api.manager_create(request, idempotency_key=idempotency_key)
        return answer["manager"]

    async def get(self, manager: str) -> Manager:
        """Read a manager.

        Raises:
            ManagerNotFound: there is none.

        """
        request: ManagerGetRequest = {"namespace": self._namespace, "manager": manager}
        answer = await self._api.manager_get(given(request))
        return Manager(manager, answer["document"], answer["version"])

    async def list(self, status: str | None = None) -> AsyncGenerator[ListedManager, None]:
        """List managers by the names of their files."""
        request: ManagersGetRequest = {
            "namespace": self._namespace,
            "status": status,
            "limit": PAGE,
        }
        request = given(request)
        while True:
            answer = await self._api.managers_get(request)
            for item in answer["items"]:
                yield ListedManager.read(item)
            if not answer["pagination"]["hasNext"]:
                return
            request["cursor"] = answer["pagination"]["nextCursor"]

    async def tick(self, managers: Sequence[str] | None = None) -> Tick:
        """Bring managers up to date and start what is to be started.

        Args:
            managers: the names of their files; None for all that are in progress.

        Raises:
            ManagerNotFound: one of them does not exist.

        """
        request: ManagerTickRequest = {
            "namespace": self._namespace,
            "payload": None if managers is None else {"managers": [*managers]},
        }
        answer = await self._api.manager_tick(given(request))
        processed = tuple(TickedManager.read(item) for item in answer["processed"])
        return Tick(dict(answer["registry"]), processed)

    async def pause(self, manager: str) -> str:
        """Have ticks leave a manager alone; return its status.

        Raises:
            ManagerNotFound: there is none.

        """
        return await self._control({"manager": manager, "do": "pause"})

    async def resume(self, manager: str) -> str:
        """Have ticks process a manager again; return its status.

        Raises:
            ManagerNotFound: there is none.

        """
        return await self._control({"manager": manager, "do": "resume"})

    async def reset(
        self, manager: str, *, worker: int | str | None = None, item: int | str | None = None
    ) -> str:
        """Have items done again; return the status of the manager.

        Args:
            manager: the name of its file.
            worker: its order or its user code; None for all.
            item: its place or its name; None for all that ended with an error.

        Raises:
            ManagerNotFound: there is none.

        """
        request: ManagerControlRequest = {
            "manager": manager,
            "do": "reset",
            "worker": worker,
            "item": item,
        }
        return await self._control(given(request))

    async def _control(self, request: ManagerControlRequest) -> str:
        if self._namespace is not None:
            request["namespace"] = self._namespace
        return (await self._api.manager_control(request))["status"]
