"""What steps call."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal, cast

from interlock.api.requester import given
from interlock.run_records import Action, Task
from interlock.runs.part import Part, ms

if TYPE_CHECKING:
    from interlock.api.payloads import (
        ActionDeleteRequest,
        ActionGetRequest,
        ActionInvokeRequest,
        ActionModule,
        ActionRegisterRequest,
        ActionSetEnabledRequest,
        ActionsGetRequest,
    )


class Actions(Part):
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
        request: ActionRegisterRequest = {
            "namespace": self._namespace,
            "name": name,
            "type": "wasm" if wasm is not None else None,
            "dispatch": dispatch,
            "tags": list(tags) or None,
            "owner": owner,
            "description": description,
            "context": context,
            "timeoutMs": ms(timeout),
            "maxRetries": max_retries,
            "retryDelayMs": ms(retry_delay),
            "waitMs": ms(wait),
            "enabled": enabled,
            "wasm": cast("ActionModule | None", wasm),
        }
        return int((await self._api.action_register(given(request)))["version"])

    async def list(self) -> AsyncGenerator[Action, None]:
        """List the actions by name."""
        request: ActionsGetRequest = {"namespace": self._namespace}
        async with aclosing(self._items(self._api.actions_get, given(request))) as items:
            async for item in items:
                yield Action.read(item)

    async def get(self, name: str) -> Action:
        """Read an action.

        Raises:
            ActionNotFound: there is none.

        """
        request: ActionGetRequest = {"namespace": self._namespace, "name": name}
        return Action.read(await self._api.action_get(given(request)))

    async def enable(self, name: str, *, enabled: bool = True) -> None:
        """Execute an action again, or no longer; open tasks continue.

        Raises:
            ActionNotFound: there is none.

        """
        request: ActionSetEnabledRequest = {
            "namespace": self._namespace,
            "name": name,
            "enabled": enabled,
        }
        await self._api.action_set_enabled(given(request))

    async def delete(self, name: str) -> None:
        """Delete an action; open tasks continue.

        Raises:
            ActionNotFound: there is none.

        """
        request: ActionDeleteRequest = {"namespace": self._namespace, "name": name}
        await self._api.action_delete(given(request))

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
        request: ActionInvokeRequest = {
            "namespace": self._namespace,
            "name": name,
            "input": input,
            "waitMs": ms(wait),
            "priority": priority,
            "delayMs": ms(delay),
            "labels": labels,
            "idempotencyKey": idempotency_key,
        }
        return Task.read((await self._api.action_invoke(given(request)))["task"])
