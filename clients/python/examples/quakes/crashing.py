"""A server of one's own, on free ports and a new database, that can be killed and restarted."""

import asyncio
import os
import re
from asyncio.subprocess import PIPE, Process
from pathlib import Path

READY_WITHIN = 30.0
"""How long a start may take, in seconds."""


class Server:
    """A server process."""

    def __init__(self, program: str, folder: Path) -> None:
        self._program = program
        self._folder = folder
        self._process: Process | None = None
        self._reading: asyncio.Task[None] | None = None
        self.target = ""
        """Where its gRPC port is, as `host:port`; the same after a restart."""

    async def start(self) -> None:
        """Start it, and wait until it is ready."""
        settings = {
            "PATH": os.environ.get("PATH", ""),
            "HOME": str(self._folder),
            "CYODA_SQLITE_PATH": str(self._folder / "quakes.db"),
            "CYODA_GRPC_PORT": self.target.partition(":")[2] or "0",
            "CYODA_HTTP_PORT": "0",
            "CYODA_ADMIN_PORT": "0",
            "CYODA_LOG_LEVEL": "info",
        }
        self._process = await asyncio.create_subprocess_exec(
            self._program, env=settings, cwd=self._folder, stdout=PIPE
        )
        log = self._process.stdout
        assert log is not None
        async with asyncio.timeout(READY_WITHIN):
            while line := (await log.readline()).decode():
                if ready := re.search(r"interlock is ready .*grpc=\S+:(\d+)", line):
                    self.target = f"127.0.0.1:{ready[1]}"
                    self._reading = asyncio.create_task(_read(log))
                    return
        raise RuntimeError(f"{self._program} ended before it was ready")

    async def kill(self) -> None:
        """End it at once, as a power failure would."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()
        if self._reading is not None:
            await self._reading


async def _read(log: asyncio.StreamReader) -> None:
    """Read what it logs, so that it never waits for its reader."""
    while await log.readline():
        pass
