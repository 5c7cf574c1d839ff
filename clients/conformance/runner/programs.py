"""The programs of the languages: how they are found, built, started and spoken to."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .documents import Number, decode, encode
from .servers import PATIENCE, REPOSITORY

CLIENTS = REPOSITORY / "clients"
BUILT = REPOSITORY / "target/conformance"

_LINE_BYTES_MAX = 64 << 20


class ProgramError(Exception):
    """A program cannot be built or started, or has ended."""


@dataclass(frozen=True)
class Language:
    """A language that has a client with a conformance program."""

    name: str
    folder: Path
    """Where its commands are executed."""
    needs: tuple[str, ...]
    """Commands that have to be installed."""
    build: tuple[tuple[str, ...], ...]
    start: tuple[str, ...]

    @classmethod
    def read(cls, path: Path, *, optimized: bool = False) -> Language:
        """Read `clients/<language>/conformance/language.json`."""
        folder = path.parent.parent
        described = json.loads(path.read_text())
        if optimized:
            described |= described.get("optimized", {})
        places = {"{built}": str(BUILT / folder.name), "{python}": _python()}

        def command(words: list[str]) -> tuple[str, ...]:
            return tuple(_placed(word, places) for word in words)

        return cls(
            name=folder.name,
            folder=folder,
            needs=tuple(described.get("needs", ())),
            build=tuple(command(words) for words in described.get("build", ())),
            start=command(described["start"]),
        )

    @classmethod
    def all(cls, clients: Path = CLIENTS, *, optimized: bool = False) -> list[Language]:
        """Find those in a folder of clients; by default those that are in this checkout."""
        paths = sorted(clients.glob("*/conformance/language.json"))
        return [cls.read(path, optimized=optimized) for path in paths]

    def missing(self) -> list[str]:
        """Return the commands that are not installed."""
        return [command for command in self.needs if shutil.which(command) is None]

    def made(self) -> None:
        """Build the program.

        Raises:
            ProgramError: a command fails.

        """
        (BUILT / self.name).mkdir(parents=True, exist_ok=True)
        for words in self.build:
            ran = subprocess.run(words, cwd=self.folder, capture_output=True, text=True)
            if ran.returncode != 0:
                command = " ".join(words)
                raise ProgramError(f"`{command}` failed:\n{ran.stdout}{ran.stderr}")


def _placed(word: str, places: dict[str, str]) -> str:
    for name, place in places.items():
        word = word.replace(name, place)
    return word


def _python() -> str:
    installed = REPOSITORY / ".venv/bin/python"
    return str(installed) if installed.exists() else sys.executable


def _processes(process: int) -> list[int]:
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return [process, *(one for child in children for one in _processes(int(child)))]


def _resident_kilobytes(process: int) -> int:
    status = Path(f"/proc/{process}/status").read_text()
    (line,) = (line for line in status.splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1])


class Program:
    """A running program."""

    def __init__(self, language: Language, *, quiet: bool) -> None:
        self._language = language
        self._quiet = quiet
        self._process: Process | None = None
        self._reading: asyncio.Task[None] | None = None
        self._answers: dict[str, asyncio.Future[dict[str, Any]]] = {}
        self._events: list[dict[str, Any]] = []
        self._came = asyncio.Condition()
        self._last_id = 0
        self._has_ended = False

    async def start(self) -> None:
        """Start it and greet it.

        Raises:
            ProgramError: it does not answer as a program of this protocol.

        """
        self._process = await asyncio.create_subprocess_exec(
            *self._language.start,
            cwd=self._language.folder,
            stdin=PIPE,
            stdout=PIPE,
            stderr=DEVNULL if self._quiet else None,
            limit=_LINE_BYTES_MAX,
        )
        self._reading = asyncio.create_task(self._read())
        answer = await self.answer(await self.send({"do": "hello"}))
        if answer.get("ok", {}).get("protocol") != Number("1"):
            raise ProgramError(f"the program does not speak protocol 1: {encode(answer)}")

    async def send(self, command: dict[str, Any]) -> str:
        """Send a command; the id under which it is answered."""
        assert self._process is not None
        assert self._process.stdin is not None
        self._last_id += 1
        identifier = str(self._last_id)
        self._answers[identifier] = asyncio.get_running_loop().create_future()
        line = encode({"id": self._last_id, **command}) + "\n"
        self._process.stdin.write(line.encode())
        try:
            await self._process.stdin.drain()
        except OSError:
            raise ProgramError("the program has ended") from None
        return identifier

    async def answer(self, identifier: str, *, patience: float = 3 * PATIENCE) -> dict[str, Any]:
        """Wait for the answer to a command.

        Raises:
            TimeoutError: there is none.
            ProgramError: the program has ended.

        """
        async with asyncio.timeout(patience):
            answer = await self._answers[identifier]
        del self._answers[identifier]
        return answer

    def megabytes(self) -> float:
        """Return how much memory it has, with the processes that it has started."""
        assert self._process is not None
        found = _processes(self._process.pid)
        return sum(_resident_kilobytes(process) for process in found) / 1024

    async def event(self, is_it: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Wait for an event, and take it.

        Raises:
            TimeoutError: there is none.
            ProgramError: the program has ended.

        """
        async with self._came, asyncio.timeout(PATIENCE):
            while True:
                if (event := self.taken(is_it)) is not None:
                    return event
                if self._has_ended:
                    raise ProgramError("the program has ended")
                await self._came.wait()

    def taken(self, is_it: Callable[[dict[str, Any]], bool]) -> dict[str, Any] | None:
        """Take an event that has come already; None if there is none."""
        for place, event in enumerate(self._events):
            if is_it(event):
                return self._events.pop(place)
        return None

    def untaken(self) -> list[dict[str, Any]]:
        """Return the events that no step has taken."""
        return list(self._events)

    async def reset(self) -> None:
        """End a scenario."""
        answer = await self.answer(await self.send({"do": "reset"}))
        self._events.clear()
        if "ok" not in answer:
            raise ProgramError(f"`reset` failed: {encode(answer)}")

    def terminate(self) -> None:
        """Send it SIGTERM."""
        assert self._process is not None
        self._process.terminate()

    async def stop(self, *, kill: bool = False) -> None:
        """End it."""
        if self._process is None:
            return
        if kill and self._process.returncode is None:
            self._process.kill()
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            async with asyncio.timeout(PATIENCE):
                await self._process.wait()
        except TimeoutError:
            self._process.kill()
            await self._process.wait()
        if self._reading is not None:
            await self._reading

    async def _read(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        try:
            while line := await self._process.stdout.readline():
                await self._take(decode(line))
        except ValueError as error:
            # The program writes something that is not JSON: it cannot be used any more.
            self._process.kill()
            await self._lose(f"the program wrote a line that is not JSON: {error}")
            return
        await self._lose("the program has ended")

    async def _take(self, line: dict[str, Any]) -> None:
        if "event" in line:
            async with self._came:
                self._events.append(line)
                self._came.notify_all()
        elif (waiting := self._answers.get(str(line.get("id")))) and not waiting.done():
            waiting.set_result(line)

    async def _lose(self, why: str) -> None:
        for waiting in self._answers.values():
            if not waiting.done():
                waiting.set_exception(ProgramError(why))
                waiting.exception()  # it may be that nobody waits for it
        async with self._came:
            self._has_ended = True
            self._came.notify_all()
