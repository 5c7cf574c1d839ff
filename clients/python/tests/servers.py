"""Real servers for tests: one process each, on free ports, forgetting everything at the end."""

import asyncio
import os
import re
from asyncio.subprocess import PIPE, STDOUT, Process
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

BINARY = os.environ.get("INTERLOCK_BIN", str(Path(__file__).parents[3] / "target/debug/interlock"))


class Server:
    """A server process that can be killed, and started again where it was."""

    def __init__(self, settings: dict[str, str]) -> None:
        self._settings = settings
        self._process: Process | None = None
        self._log: asyncio.Task[None] | None = None
        self._said = ""
        self._says = asyncio.Condition()
        self.target = ""
        """Where its gRPC port is, as `host:port`; the same after a restart."""
        self.rest = ""
        """Where its REST port is, as the beginning of a URL."""

    async def start(self) -> None:
        """Start it and wait until it is ready."""
        port = self.target.partition(":")[2] or "0"
        ports = {"CYODA_HTTP_PORT": "0", "CYODA_ADMIN_PORT": "0", "CYODA_GRPC_PORT": port}
        self._process = await asyncio.create_subprocess_exec(
            BINARY, env={**self._settings, **ports}, cwd="/", stdout=PIPE, stderr=STDOUT
        )
        log = self._process.stdout
        assert log is not None
        self._log = asyncio.create_task(self._listen(log))
        ready = await self.says(r"interlock is ready .*http=\S+:(\d+) .*grpc=\S+:(\d+)")
        self.rest = f"http://127.0.0.1:{ready[1]}"
        self.target = f"127.0.0.1:{ready[2]}"

    async def says(self, pattern: str) -> re.Match[str]:
        """Wait until something is in its log, beginning with its last start."""
        async with self._says, asyncio.timeout(10):
            await self._says.wait_for(lambda: re.search(pattern, self._said))
        found = re.search(pattern, self._said)
        assert found is not None
        return found

    async def kill(self) -> None:
        """End it without letting it finish anything."""
        await self._end(Process.kill)

    async def stop(self) -> None:
        """Ask it to end, and wait until it has."""
        await self._end(Process.terminate)

    async def _end(self, how: Callable[[Process], None]) -> None:
        assert self._process is not None
        assert self._log is not None
        if self._process.returncode is None:
            how(self._process)
        await self._process.wait()
        await self._log
        self._said = ""

    async def _listen(self, log: asyncio.StreamReader) -> None:
        while line := (await log.readline()).decode():
            # pytest shows it with a test that fails.
            print(line, end="")
            async with self._says:
                self._said += line
                self._says.notify_all()


@asynccontextmanager
async def server(**settings: str) -> AsyncIterator[Server]:
    """Run a server with settings of its own."""
    running = Server(
        {
            "CYODA_STORAGE_BACKEND": "memory",
            "INTERLOCK_IAM_MOCK_CALLER": "true",
            # A test that calls a processor has its member ready.
            "CYODA_DISPATCH_WAIT_TIMEOUT": "0s",
            **settings,
        }
    )
    await running.start()
    try:
        yield running
    finally:
        await running.kill()
