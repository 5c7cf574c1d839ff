"""Handlers that do what the scripts of a scenario say."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

from asking import ask, collect, failure

from interlock import (
    Context,
    Entity,
    InterlockError,
    Member,
    No,
    Operations,
    Outcome,
    Rejected,
    Retryable,
    Schedule,
    TaskContext,
)

Step = dict[str, Any]


class Host(Protocol):
    """What handlers need of the program."""

    def say(self, line: dict[str, Any]) -> None:
        """Write a line."""

    def gate(self, name: str) -> asyncio.Event:
        """Return a gate."""

    def next_call(self) -> int:
        """Return the number of the next call."""


class Scripts:
    """One handler of a member."""

    def __init__(self, host: Host, member: str, given: dict[str, Any], *, quiet: bool) -> None:
        self._host = host
        self._quiet = quiet
        self._member = member
        self._kind: str = given["kind"]
        self._name: str = given["name"]
        self._is_detached: bool = given.get("detached", False)
        self._scripts: list[list[Step]] = given["scripts"]
        self._called = 0

    def register(self, member: Member) -> None:
        """Have the member call it."""
        self._outside = member.client

        async def attached(entity: Entity, context: Context) -> Any:
            return await self._calculate(entity, context)

        async def detached(context: Context) -> Any:
            return await self._calculate(None, context)

        match self._kind, self._is_detached:
            case "processor", False:
                member.processor(self._name)(attached)
            case "processor", True:
                member.detached_processor(self._name)(detached)
            case "criterion", False:
                member.criterion(self._name)(attached)
            case "criterion", True:
                member.detached_criterion(self._name)(detached)
            case "schedule", False:
                member.schedule(self._name)(attached)
            case "schedule", True:
                member.detached_schedule(self._name)(detached)
            case "action", _:
                member.action(self._name)(self._act)
            case _:
                raise ValueError(f"{self._kind} is not a kind of handler")

    async def _calculate(self, entity: Entity | None, context: Context) -> Any:
        caller = context.caller
        called = {
            "entityId": context.entity_id,
            "state": entity.state if entity else None,
            "data": entity.data if entity else None,
            "parameters": context.parameters,
            "workflow": context.workflow,
            "transition": context.transition.name,
            "transactionId": context.transaction_id,
            "dispatchKey": context.dispatch_key,
            "caller": {"kind": caller.kind, "id": caller.id, "roles": list(caller.roles)},
        }
        one = _Call(self._host, context, self._outside, called["data"], context.entity_id)
        return await self._follow(one, called)

    async def _act(self, given: Any, context: TaskContext) -> Any:
        called = {
            "data": given,
            "attempt": context.attempt,
            "runId": context.run_id,
            "step": context.step,
            "idempotencyKey": context.idempotency_key,
        }
        one = _Call(self._host, context, context.outside, given, None)
        return await self._follow(one, called)

    async def _follow(self, one: _Call, called: dict[str, Any]) -> Any:
        script = self._scripts[min(self._called, len(self._scripts) - 1)]
        self._called += 1
        if self._quiet:
            return await one.follow(script)
        self._host.say(
            {
                "event": "called",
                "call": one.number,
                "member": self._member,
                "kind": self._kind,
                "name": self._name,
                **called,
            }
        )
        how = "raised"
        try:
            result = await one.follow(script)
            how = "returned"
        except asyncio.CancelledError:
            how = "cancelled"
            raise
        except Retryable:
            how = "retry"
            raise
        except Rejected:
            how = "rejected"
            raise
        finally:
            how = "cancelled" if one.is_given_up else how
            self._host.say({"event": "left", "call": one.number, "how": how})
        return result


class _Call:
    """One call of a handler."""

    def __init__(
        self,
        host: Host,
        context: Context | TaskContext,
        outside: Operations,
        given: Any,
        entity_id: str | None,
    ) -> None:
        self.number = host.next_call()
        self.is_given_up = False
        self._host = host
        self._context = context
        self._outside = outside
        self._given = given
        self._entity_id = entity_id

    async def follow(self, script: list[Step]) -> Any:
        """Execute the steps until one of them ends the call."""
        for step in script:
            ((what, given),) = ((name, step[name]) for name in step if name in _STEPS)
            match what:
                case "return":
                    return given
                case "merge":
                    return {**self._given, **given}
                case "keep":
                    return None
                case "matches":
                    return No(step["reason"]) if "reason" in step else given
                case "schedule":
                    return _schedule(given)
                case "output":
                    return Outcome(step["outcome"], given) if "outcome" in step else given
                case "reject":
                    raise Rejected(given)
                case "retry":
                    raise Retryable(given)
                case "raise":
                    raise RuntimeError(given)
                case "warn":
                    self._context.warn(given)
                case "wait":
                    await self._wait(given, step.get("reason"))
                case "call":
                    await self._ask(self._context.client, given)
                case "collect":
                    await self._collect(self._context.client, given)
                case "outside":
                    await self._ask(self._outside, given)
        return None

    async def _wait(self, gate: str, reason: str | None) -> None:
        """Wait at a gate; with a reason, fail with it if the call is given up."""
        try:
            await self._host.gate(gate).wait()
        except asyncio.CancelledError:
            if reason is None:
                raise
            self.is_given_up = True
            raise RuntimeError(reason) from None

    async def _ask(self, operations: Operations, given: Step) -> None:
        payload = self._filled(given["payload"])
        await self._say_answer("ok", ask(operations, given["type"], payload, given.get("key")))

    async def _collect(self, operations: Operations, given: Step) -> None:
        payload = self._filled(given["payload"])
        await self._say_answer("items", collect(operations, given["type"], payload))

    async def _say_answer(self, name: str, asked: Awaitable[Any]) -> None:
        try:
            answered = {name: await asked}
        except InterlockError as error:
            answered = {"error": failure(error)}
        self._host.say({"event": "asked", "call": self.number, **answered})

    def _filled(self, value: Any) -> Any:
        match value:
            case "$entityId":
                return self._entity_id
            case dict():
                return {name: self._filled(member) for name, member in value.items()}
            case list():
                return [self._filled(item) for item in value]
        return value


_STEPS = (
    "return",
    "merge",
    "keep",
    "matches",
    "schedule",
    "output",
    "reject",
    "retry",
    "raise",
    "warn",
    "wait",
    "call",
    "collect",
    "outside",
)


def _schedule(given: dict[str, int]) -> Schedule:
    def time(name: str) -> datetime | None:
        return datetime.fromtimestamp(given[name] / 1000, UTC) if name in given else None

    def span(name: str) -> timedelta | None:
        return timedelta(milliseconds=given[name]) if name in given else None

    return Schedule(
        fire_at=time("fireAt"),
        fire_after=span("fireAfterMs"),
        expire_at=time("expireAt"),
        expire_after=span("expireAfterMs"),
    )
