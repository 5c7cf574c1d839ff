"""Executes the commands of the conformance runner."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import Any

from asking import ask, collect, failure, read_each
from feeds import items
from handlers import Scripts

from interlock import Client, ClientCredentials, Member, Operations, documents
from interlock.connection import Metadata

Command = dict[str, Any]

_LINE_BYTES_MAX = 64 << 20


class Program:
    """Clients, members and feeds by the names that the runner gives them."""

    def __init__(self) -> None:
        self._clients: dict[str, Client] = {}
        self._members: dict[str, Member] = {}
        self._feeds: dict[str, asyncio.Task[None]] = {}
        self._gates: dict[str, asyncio.Event] = {}
        self._running: set[asyncio.Task[None]] = set()
        self._serving: set[asyncio.Task[None]] = set()
        self._calls = 0
        self._commands: dict[str, Callable[[Command], Awaitable[Any]]] = {
            "hello": self._hello,
            "connect": self._connect,
            "join": self._join,
            "serve": self._serve,
            "call": self._call,
            "calls": self._call_many,
            "collect": self._collect,
            "read-each": self._read_each,
            "follow": self._follow,
            "unfollow": self._unfollow,
            "open": self._open,
            "leave": self._leave,
            "close": self._close,
            "reset": self._reset,
        }

    async def run(self) -> None:
        """Execute commands until standard input ends."""
        lines = asyncio.StreamReader(limit=_LINE_BYTES_MAX)
        await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(lines), sys.stdin
        )
        while line := await lines.readline():
            task = asyncio.create_task(self._execute(documents.decode(line)))
            self._running.add(task)
            task.add_done_callback(self._running.discard)
        await self._reset({})

    def say(self, line: dict[str, Any]) -> None:
        """Write a line."""
        sys.stdout.buffer.write(documents.encode(line).encode() + b"\n")
        sys.stdout.buffer.flush()

    def gate(self, name: str) -> asyncio.Event:
        """Return a gate; it is closed until the runner opens it."""
        return self._gates.setdefault(name, asyncio.Event())

    def next_call(self) -> int:
        """Return the number of the next call of a handler."""
        self._calls += 1
        return self._calls

    async def _execute(self, command: Command) -> None:
        execute = self._commands.get(command["do"])
        answer: dict[str, Any]
        try:
            if execute is None:
                message = f"there is no command `{command['do']}`"
                answer = {"error": {"code": "UNSUPPORTED", "message": message}}
            else:
                answer = {"ok": await execute(command)}
        except Exception as error:
            answer = {"error": failure(error)}
        self.say({"id": command["id"], **answer})

    async def _hello(self, _command: Command) -> Any:
        return {"language": "python", "protocol": 1}

    async def _connect(self, command: Command) -> Any:
        client = Client(command["target"], metadata=_access(command))
        await client.__aenter__()
        self._clients[command["as"]] = client
        return {}

    async def _join(self, command: Command) -> Any:
        member = self._member(command)
        await member.__aenter__()
        self._members[command["as"]] = member
        return {}

    async def _serve(self, command: Command) -> Any:
        member = self._members[command["as"]] = self._member(command)
        serving = asyncio.create_task(member.run())
        self._serving.add(serving)
        serving.add_done_callback(self._serving.discard)
        return {}

    def _member(self, command: Command) -> Member:
        places = {"concurrency": command["concurrency"]} if "concurrency" in command else {}
        member = Member(
            command["target"], tags=command["tags"], metadata=_access(command), **places
        )
        for handler in command["handlers"]:
            Scripts(self, command["as"], handler, quiet=command.get("quiet", False)).register(
                member
            )
        return member

    async def _call(self, command: Command) -> Any:
        asked = ask(
            self._operations(command), command["type"], command["payload"], command.get("key")
        )
        if "timeoutMs" not in command:
            return await asked
        async with asyncio.timeout(command["timeoutMs"] / 1000):
            return await asked

    async def _call_many(self, command: Command) -> Any:
        operations = self._operations(command)
        answers = await asyncio.gather(
            *(
                ask(operations, command["type"], command["payload"], None)
                for _ in range(command["count"])
            ),
            return_exceptions=True,
        )
        failed = Counter(
            failure(answer)["code"] for answer in answers if isinstance(answer, Exception)
        )
        return {"answered": len(answers) - failed.total(), "failed": dict(failed)}

    async def _collect(self, command: Command) -> Any:
        found = await collect(self._operations(command), command["type"], command["payload"])
        return {"items": found}

    async def _read_each(self, command: Command) -> Any:
        operations = self._operations(command)
        return {"read": await read_each(operations, command["payload"])}

    async def _follow(self, command: Command) -> Any:
        feed = self._feed(command["as"], self._operations(command), command)
        self._feeds[command["as"]] = asyncio.create_task(feed)
        return {}

    async def _feed(self, name: str, operations: Operations, command: Command) -> None:
        ended: dict[str, Any] = {"event": "ended", "feed": name}
        try:
            async with aclosing(items(operations, command["type"], command["payload"])) as feed:
                async for item in feed:
                    self.say({"event": "item", "feed": name, "item": item})
        except Exception as error:
            ended["error"] = failure(error)
        self.say(ended)

    async def _unfollow(self, command: Command) -> Any:
        await _cancelled(self._feeds.pop(command["feed"]))
        return {}

    async def _open(self, command: Command) -> Any:
        self.gate(command["gate"]).set()
        return {}

    async def _leave(self, command: Command) -> Any:
        await self._members.pop(command["member"]).stop()
        return {}

    async def _close(self, command: Command) -> Any:
        await self._clients.pop(command["client"]).close()
        return {}

    async def _reset(self, _command: Command) -> Any:
        others = self._running - {asyncio.current_task()}
        for task in (*others, *self._feeds.values()):
            await _cancelled(task)
        members, clients = [*self._members.values()], [*self._clients.values()]
        for owned in (self._members, self._clients, self._feeds, self._gates):
            owned.clear()
        await asyncio.gather(
            *(member.stop(timeout=0) for member in members),
            *(client.close() for client in clients),
        )
        return {}

    def _operations(self, command: Command) -> Operations:
        name = command["on"]
        member = self._members.get(name)
        return self._clients[name] if member is None else member.client


def _access(command: Command) -> Metadata:
    access = command["access"]
    if (oauth := access.get("oauth")) is not None:
        return ClientCredentials(oauth["url"], oauth["clientId"], oauth["clientSecret"])
    metadata: dict[str, str] = access["metadata"]
    return metadata


async def _cancelled(task: asyncio.Task[None]) -> None:
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
