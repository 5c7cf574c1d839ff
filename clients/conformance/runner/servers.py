"""The server under a scenario, a proxy in front of it, and the runner's own requests."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import os
import re
import shutil
import tempfile
import urllib.error
import urllib.request
import uuid
from asyncio.subprocess import PIPE, STDOUT, Process
from pathlib import Path
from typing import Any

from .documents import decode, encode

REPOSITORY = Path(__file__).resolve().parents[3]
BINARY = os.environ.get("INTERLOCK_BIN", str(REPOSITORY / "target/debug/interlock"))

PATIENCE = 10.0
"""How long anything may take, in seconds."""

_DEFAULTS = {
    "CYODA_STORAGE_BACKEND": "memory",
    "CYODA_DISPATCH_WAIT_TIMEOUT": "0s",
    # A restart need not wait for streams that a scenario has left open.
    "CYODA_ADMIN_PORT": "0",
}
_MOCKED = {"INTERLOCK_IAM_MOCK_CALLER": "true"}
_READY = re.compile(r"interlock is ready .*http=(\S+):(\d+) .*grpc=\S+:(\d+)")

CLIENT_ID = "conformance"
CLIENT_SECRET = "a secret of the conformance run"
_TENANT = "6b1f0c3e-2a5d-4c7e-9b8a-0d1e2f3a4b5c"
_GUARDED = {
    "INTERLOCK_IAM_MOCK_CALLER": "false",
    "CYODA_JWT_SIGNING_KEY_FILE": str(REPOSITORY / "tests/keys/signing.pem"),
    "CYODA_BOOTSTRAP_CLIENT_ID": CLIENT_ID,
    "CYODA_BOOTSTRAP_CLIENT_SECRET": CLIENT_SECRET,
    "CYODA_BOOTSTRAP_TENANT_ID": _TENANT,
}


class ServerError(Exception):
    """The server did not do what every scenario relies on."""


class Server:
    """A server process that can be killed, stopped, and started again at the same addresses."""

    def __init__(self, settings: dict[str, str]) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="interlock-conformance-"))
        self.has_tokens = settings.get("CYODA_IAM_MODE") == "jwt"
        own = {name: text.replace("$folder", str(self._folder)) for name, text in settings.items()}
        self._settings = _DEFAULTS | (_GUARDED if self.has_tokens else _MOCKED) | own
        self._process: Process | None = None
        self._log: asyncio.Task[None] | None = None
        self._ready: asyncio.Future[re.Match[str]] | None = None
        self._lines: list[str] = []
        self._http_port = "0"
        self._grpc_port = "0"

    @property
    def target(self) -> str:
        """Where its gRPC port is, as `host:port`."""
        return f"127.0.0.1:{self._grpc_port}"

    @property
    def api(self) -> str:
        """Where its REST API is, as the beginning of a URL."""
        return f"http://127.0.0.1:{self._http_port}/api"

    async def start(self) -> None:
        """Start it and wait until it is ready.

        Raises:
            ServerError: it does not become ready.

        """
        ports = {"CYODA_HTTP_PORT": self._http_port, "CYODA_GRPC_PORT": self._grpc_port}
        self._ready = asyncio.get_running_loop().create_future()
        try:
            self._process = await asyncio.create_subprocess_exec(
                BINARY, env={**self._settings, **ports}, cwd="/", stdout=PIPE, stderr=STDOUT
            )
        except OSError as error:
            raise ServerError(f"{error}; build the server or set INTERLOCK_BIN") from None
        assert self._process.stdout is not None
        self._log = asyncio.create_task(self._read(self._process.stdout))
        try:
            async with asyncio.timeout(PATIENCE):
                ready = await self._ready
        except TimeoutError:
            await self.kill()
            raise ServerError("the server does not start:\n" + "".join(self._lines)) from None
        self._http_port, self._grpc_port = ready[2], ready[3]

    async def kill(self) -> None:
        """End it without letting it finish anything."""
        await self._end(Process.kill)

    async def stop(self) -> None:
        """Ask it to end, and wait until it has."""
        await self._end(Process.terminate)

    async def remove(self) -> None:
        """End it, and forget what it has stored."""
        await self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    def access(self, tenant: str) -> dict[str, Any]:
        """Return how a program authenticates; the address of a token endpoint is still missing."""
        if not self.has_tokens:
            return {"metadata": {"x-mock-tenant": tenant}}
        return {"oauth": {"clientId": CLIENT_ID, "clientSecret": CLIENT_SECRET}}

    async def ask(self, tenant: str, kind: str, payload: dict[str, Any]) -> dict[str, Any]:
        """Send a request of the runner; the payload of its answer, or `items` of a streamed one."""
        headers = {"content-type": "application/cloudevents+json"}
        if self.has_tokens:
            headers["authorization"] = f"Bearer {await self.token()}"
        else:
            headers["x-mock-tenant"] = tenant
        identifier = str(uuid.uuid4())
        envelope = {
            "specversion": "1.0",
            "id": identifier,
            "source": "conformance",
            "type": kind,
            "datacontenttype": "application/json",
            "data": {"id": identifier, **payload},
        }
        answer = await self.post("/events", encode(envelope).encode(), headers)
        if isinstance(answer, list):
            return {"items": [event["data"] for event in answer[:-1]]}
        data: dict[str, Any] = answer["data"]
        return data

    async def token(self) -> str:
        """Obtain a token."""
        pair = base64.b64encode(f"{CLIENT_ID}:{CLIENT_SECRET}".encode()).decode()
        form = b"grant_type=client_credentials"
        headers = {"authorization": f"Basic {pair}"}
        return str((await self.post("/oauth/token", form, headers))["access_token"])

    async def post(self, path: str, body: bytes, headers: dict[str, str]) -> Any:
        """Send a request to the REST API; the JSON of its answer."""
        asked = urllib.request.Request(f"{self.api}{path}", body, headers)

        def post() -> bytes:
            with urllib.request.urlopen(asked, timeout=PATIENCE) as answer:
                text: bytes = answer.read()
                return text

        return decode(await asyncio.to_thread(post))

    async def _end(self, how: Any) -> None:
        if self._process is None:
            return
        if self._process.returncode is None:
            how(self._process)
        await self._process.wait()
        if self._log is not None:
            await self._log

    async def _read(self, log: asyncio.StreamReader) -> None:
        while line := (await log.readline()).decode(errors="replace"):
            self._lines.append(line)
            if (ready := _READY.search(line)) and self._ready and not self._ready.done():
                self._ready.set_result(ready)


class Proxy:
    """Connections to a server that can be cut."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._listening: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()
        self._pumps: set[asyncio.Task[None]] = set()
        self.target = ""
        """Where it listens, as `host:port`."""

    async def start(self) -> None:
        """Listen."""
        self._listening = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.target = f"127.0.0.1:{self._listening.sockets[0].getsockname()[1]}"

    def cut(self) -> None:
        """Cut every connection; further ones are accepted."""
        for writer in list(self._open):
            writer.transport.abort()

    async def stop(self) -> None:
        """Cut every connection and listen no longer."""
        if self._listening is not None:
            self._listening.close()
        self.cut()
        for pump in self._pumps:
            pump.cancel()
        await asyncio.gather(*self._pumps, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        host, _, port = self._server.target.partition(":")
        try:
            onward = await asyncio.open_connection(host, int(port))
        except OSError:
            writer.transport.abort()
            return
        self._open |= {writer, onward[1]}
        for source, sink in ((reader, onward[1]), (onward[0], writer)):
            pump = asyncio.create_task(self._pump(source, sink))
            self._pumps.add(pump)
            pump.add_done_callback(self._pumps.discard)

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while chunk := await source.read(1 << 16):
                sink.write(chunk)
                await sink.drain()
        self._open.discard(sink)
        sink.transport.abort()


class TokenEndpoint:
    """Passes token requests on to a server, and shortens the life that the answers state.

    The server itself accepts a token for some time after it has expired, so the life of a token
    cannot be observed at the server within the time of a scenario.
    """

    LIFE = 1.0
    """How long tokens live according to their answers, in seconds."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._listening: asyncio.Server | None = None
        self._last = 0.0
        self.granted = 0
        """How many tokens it has passed on."""
        self.url = ""
        """Where it is."""

    async def start(self) -> None:
        """Listen."""
        self._listening = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        port = self._listening.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{port}/api/oauth/token"

    async def stop(self) -> None:
        """Listen no longer."""
        if self._listening is not None:
            self._listening.close()

    async def expired(self) -> None:
        """Wait until every token has expired."""
        remaining = self._last + self.LIFE - asyncio.get_running_loop().time()
        await asyncio.sleep(max(0.0, remaining))

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            lines = (line.partition(":") for line in head.split("\r\n")[1:] if line)
            headers = {name.lower(): text.strip() for name, _, text in lines}
            body = await reader.readexactly(int(headers.get("content-length", "0")))
            status, answer = await self._passed_on(headers, body)
            writer.write(
                f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\n"
                f"content-length: {len(answer)}\r\nconnection: close\r\n\r\n".encode()
                + answer
            )
            await writer.drain()
        writer.close()

    async def _passed_on(self, headers: dict[str, str], body: bytes) -> tuple[str, bytes]:
        passed: dict[str, str] = {
            name: headers[name] for name in ("authorization", "content-type") if name in headers
        }
        try:
            granted = await self._server.post("/oauth/token", body, passed)
        except urllib.error.HTTPError as error:
            with error:
                return f"{error.code} Refused", error.read()
        except OSError:
            return "503 Unavailable", b"{}"
        self.granted += 1
        self._last = asyncio.get_running_loop().time()
        return "200 OK", encode({**granted, "expires_in": int(self.LIFE)}).encode()
