"""The service, which can be killed and started again where it was, and its commands."""

import asyncio
import os
import re
from asyncio.subprocess import PIPE, STDOUT, Process
from pathlib import Path

READY_WITHIN = 30.0
"""How long a start may take, in seconds."""

TICK_EVERY = "1s"
"""How often the service brings managers up to date."""


class NotDone(Exception):
    """A program did not do what it was to do."""


class Shell:
    """A service of our own, on free ports, and the commands that people would type."""

    def __init__(self, program: str, folder: Path, directory: Path | None) -> None:
        """Prepare.

        Args:
            program: the service, which is its command line, too.
            folder: where its database is.
            directory: the folder that is the namespace; None to keep files in the database.

        """
        self._program = program
        self._folder = folder
        self._directory = directory
        self._process: Process | None = None
        self._reading: asyncio.Task[None] | None = None
        self.target = ""
        """Where its gRPC port is, as `host:port`; the same after a restart."""

    async def start(self) -> None:
        """Start the service, and wait until it is ready."""
        settings = {
            "PATH": os.environ.get("PATH", ""),
            "HOME": str(self._folder),
            "CYODA_SQLITE_PATH": str(self._folder / "batch.db"),
            "CYODA_GRPC_PORT": self.target.partition(":")[2] or "0",
            "CYODA_HTTP_PORT": "0",
            "CYODA_ADMIN_PORT": "0",
            "CYODA_LOG_LEVEL": "info",
            "INTERLOCK_MANAGER_INTERVAL": TICK_EVERY,
        }
        if self._directory is not None:
            settings["INTERLOCK_MANAGER_DIR"] = str(self._directory)
        self._process = await asyncio.create_subprocess_exec(
            self._program, env=settings, cwd=self._folder, stdout=PIPE, stderr=STDOUT
        )
        log = self._process.stdout
        assert log is not None
        said = ""
        async with asyncio.timeout(READY_WITHIN):
            while line := (await log.readline()).decode():
                said += line
                if ready := re.search(r"interlock is ready .*grpc=\S+:(\d+)", line):
                    self.target = f"127.0.0.1:{ready[1]}"
                    self._reading = asyncio.create_task(_read(log))
                    return
        raise NotDone(f"{self._program} ended before it was ready:\n{said}")

    async def kill(self) -> None:
        """End it at once, as a power failure would."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()
        if self._reading is not None:
            await self._reading

    async def command(self, *words: str) -> str:
        """Execute a command of the service, and return what it prints."""
        print(f"$ interlock {' '.join(words)}")
        process = await asyncio.create_subprocess_exec(
            *(self._program, *words, "--address", self.target),
            cwd=self._folder,
            stdout=PIPE,
            stderr=PIPE,
        )
        printed, problem = await process.communicate()
        if process.returncode != 0:
            raise NotDone(f"`interlock {' '.join(words)}` failed:\n{problem.decode()}")
        return printed.decode().strip()


async def _read(log: asyncio.StreamReader) -> None:
    """Read what it logs, so that it never waits for its reader."""
    while await log.readline():
        pass
