"""The processes that the example starts: the service, PostgreSQL and the payment server."""

import asyncio
import contextlib
import os
import re
import secrets
import shutil
import signal
import socket
import sys
import tempfile
from asyncio.subprocess import PIPE, STDOUT, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

HERE = Path(__file__).parent

READY_WITHIN = 60.0
"""How long a start may take, in seconds."""

PAUSE = 1.0
"""How long the payment server stays dead, in seconds."""

NOBODY = 65_534
"""The user that PostgreSQL runs as if this one is the super user, as which it refuses to run."""


class NotStarted(Exception):
    """Something that is needed is missing, or does not start."""


@dataclass(frozen=True)
class Postgres:
    """Where a PostgreSQL server is."""

    psql: str
    host: str
    port: int
    user: str
    password: str
    database: str

    async def execute(self, script: str) -> list[list[str]]:
        """Execute statements, all or none; return the rows of those that select."""
        place = {
            "PGHOST": self.host,
            "PGPORT": str(self.port),
            "PGUSER": self.user,
            "PGPASSWORD": self.password,
            "PGDATABASE": self.database,
        }
        arguments = ("-X", "-q", "-A", "-t", "-1", "-v", "ON_ERROR_STOP=1", "-f", "-")
        process = await asyncio.create_subprocess_exec(
            self.psql, *arguments, env=os.environ | place, stdin=PIPE, stdout=PIPE, stderr=PIPE
        )
        rows, errors = await process.communicate(script.encode())
        if process.returncode != 0:
            raise NotStarted(f"PostgreSQL: {errors.decode().strip()}")
        return [line.split("|") for line in rows.decode().splitlines()]


def programs_of_postgres() -> Path | None:
    """Find the folder with its programs: of the path, or the newest that Debian has installed."""
    of_path = shutil.which("initdb")
    if of_path is not None:
        return Path(of_path).resolve().parent
    found = Path("/usr/lib/postgresql").glob("*/bin/initdb")
    folders = [program.parent for program in found if (program.parent / "postgres").exists()]
    return max(folders, key=lambda folder: float(folder.parent.name), default=None)


def postgres_at(url: str) -> Postgres:
    """Return the server that a URL names."""
    psql = shutil.which("psql")
    if psql is None:
        raise NotStarted("psql is not installed; it is part of PostgreSQL's client programs")
    parts = urlsplit(url)
    if parts.scheme not in ("postgres", "postgresql") or not parts.hostname:
        raise NotStarted(f"{url} is not like postgresql://user:password@host:5432/database")
    return Postgres(
        psql=psql,
        host=parts.hostname,
        port=parts.port or 5432,
        user=unquote(parts.username or "postgres"),
        password=unquote(parts.password or ""),
        database=parts.path.strip("/") or "postgres",
    )


@asynccontextmanager
async def private_postgres() -> AsyncIterator[Postgres]:
    """Run a server in a folder that is deleted in the end."""
    programs = programs_of_postgres()
    if programs is None:
        raise NotStarted(
            "PostgreSQL is not installed (there is no initdb); install it, or name a server "
            "with --postgres URL"
        )
    with tempfile.TemporaryDirectory(prefix="rentals-postgres-") as name:
        folder, data = Path(name), Path(name) / "data"
        password = secrets.token_hex(16)
        secret = folder / "password"
        secret.write_text(password)
        user: dict[str, Any] = {}
        if os.geteuid() == 0:
            for path in (folder, secret):
                os.chown(path, NOBODY, NOBODY)
            user = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        here: dict[str, Any] = {**user, "cwd": folder, "stdout": PIPE, "stderr": STDOUT}
        access = ("-U", "postgres", "-A", "scram-sha-256", f"--pwfile={secret}")
        making = await asyncio.create_subprocess_exec(
            programs / "initdb",
            *("-D", data, "-N", "-E", "UTF8", "--locale=C", *access),
            **here,
        )
        said, _ = await making.communicate()
        if making.returncode != 0:
            raise NotStarted(f"initdb failed:\n{said.decode()}")
        port = free_port()
        places = ("-D", data, "-p", str(port), "-k", folder, "-c", "listen_addresses=127.0.0.1")
        server = await asyncio.create_subprocess_exec(programs / "postgres", *places, **here)
        async with _logging(server, "ready to accept connections", end=signal.SIGINT):
            psql = str(programs / "psql")
            yield Postgres(psql, "127.0.0.1", port, "postgres", password, "postgres")


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
        return port


@asynccontextmanager
async def interlock(program: str, folder: Path) -> AsyncIterator[str]:
    """Run the service; the address of its gRPC port."""
    settings = {
        "PATH": os.environ.get("PATH", ""),
        "HOME": str(folder),
        "CYODA_SQLITE_PATH": str(folder / "rentals.db"),
        "CYODA_GRPC_PORT": "0",
        "CYODA_HTTP_PORT": "0",
        "CYODA_ADMIN_PORT": "0",
        "INTERLOCK_CONNECTORS_MAX_CONNECTIONS": "16",
    }
    process = await asyncio.create_subprocess_exec(
        program, env=settings, cwd=folder, stdout=PIPE, stderr=STDOUT
    )
    async with _logging(process, r"interlock is ready .*grpc=\S+:(\d+)") as ready:
        yield f"127.0.0.1:{ready[1]}"


@asynccontextmanager
async def _logging(
    process: Process, ready: str, end: signal.Signals = signal.SIGKILL
) -> AsyncIterator[re.Match[str]]:
    """Wait for what a process logs when it is ready, and end it in the end."""
    log = process.stdout
    assert log is not None
    reading: asyncio.Task[None] | None = None
    said, found = "", None
    try:
        async with asyncio.timeout(READY_WITHIN):
            while found is None and (line := (await log.readline()).decode()):
                said += line
                found = re.search(ready, line)
        if found is None:
            raise NotStarted(f"a program ended before it was ready:\n{said}")
        reading = asyncio.create_task(_read(log))
        yield found
    finally:
        if process.returncode is None:
            process.send_signal(end)
        await process.wait()
        if reading is not None:
            await reading


class PaymentServer:
    """The payment server, which is started again whenever it has died."""

    def __init__(self, ledger: Path, deaths: list[int]) -> None:
        self.ledger = ledger
        self.token = secrets.token_hex(16)
        self.port = 0
        self.died = 0
        """How often it has died."""
        self._deaths = deaths

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}"

    async def start(self) -> Process:
        """Start it, and wait until it listens."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            HERE / "payment_server.py",
            *("--ledger", self.ledger, "--port", str(self.port)),
            *("--die-at", *map(str, self._deaths)),
            env=os.environ | {"PAYMENTS_TOKEN": self.token},
            stdout=PIPE,
        )
        assert process.stdout is not None
        async with asyncio.timeout(READY_WITHIN):
            line = await process.stdout.readline()
        if not line:
            raise NotStarted("the payment server ended before it was ready")
        self.port = int(line)
        return process

    async def keep(self, process: Process) -> None:
        """Start it again whenever it has died, until this task is cancelled."""
        try:
            while True:
                await process.wait()
                self.died += 1
                print("the payment server has died, and is started again")
                await asyncio.sleep(PAUSE)
                process = await self.start()
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()


@asynccontextmanager
async def payment_server(ledger: Path, deaths: list[int]) -> AsyncIterator[PaymentServer]:
    """Run the payment server, which dies after so many charges."""
    server = PaymentServer(ledger, deaths)
    keeping = asyncio.create_task(server.keep(await server.start()))
    try:
        yield server
    finally:
        keeping.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await keeping


async def _read(log: asyncio.StreamReader) -> None:
    """Read what a process logs, so that it never waits for its reader."""
    while await log.readline():
        pass
