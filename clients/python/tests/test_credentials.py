"""What a token endpoint may answer."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from interlock import ClientCredentials, ConnectionLost, InvalidOptions, Unauthorized

CLIENTS = Path(__file__).parents[2]
LIFETIMES = json.loads((CLIENTS / "token-lifetimes.json").read_text())["lifetimes"]


@asynccontextmanager
async def endpoint(answer: bytes) -> AsyncIterator[str]:
    """Run an endpoint that always says the same; its address."""

    async def say(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"grant_type=client_credentials")
        writer.write(answer)
        await writer.drain()
        writer.close()

    running = await asyncio.start_server(say, "127.0.0.1")
    async with running:
        yield f"http://127.0.0.1:{running.sockets[0].getsockname()[1]}/token"


def http(status: str, body: str, *, missing: int = 0) -> bytes:
    return f"HTTP/1.1 {status}\r\ncontent-length: {len(body) + missing}\r\n\r\n{body}".encode()


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"garbage\r\n\r\n",
        http("200 OK", '{"access_token"', missing=100),
        http("200 OK", "<html>maintenance</html>"),
        http("200 OK", "[]"),
        http("200 OK", "{}"),
        http("200 OK", '{"access_token": "a\\nb", "expires_in": 300}'),
        http("200 OK", "[" * 100_000),
        http("400 Bad Request", "<html>no</html>"),
        http("401 Unauthorized", '{"error": "inval', missing=100),
        http("429 Too Many Requests", ""),
        http("502 Bad Gateway", "<html>no</html>"),
    ],
)
async def test_what_is_no_answer_of_an_endpoint_is_worth_another_try(answer: bytes) -> None:
    async with endpoint(answer) as url:
        with pytest.raises(ConnectionLost, match=url) as caught:
            await ClientCredentials(url, "shop", "secret")()
    assert caught.value.retryable


@pytest.mark.parametrize("status", ["400 Bad Request", "401 Unauthorized", "403 Forbidden"])
async def test_a_refusal_of_the_endpoint_is_final(status: str) -> None:
    async with endpoint(http(status, '{"error": "invalid_client"}')) as url:
        with pytest.raises(Unauthorized, match="refuses these credentials: invalid_client"):
            await ClientCredentials(url, "shop", "secret")()


async def test_an_address_without_an_endpoint_is_a_mistake() -> None:
    async with endpoint(http("404 Not Found", "<html>no</html>")) as url:
        with pytest.raises(InvalidOptions, match="there is no token endpoint; check the address"):
            await ClientCredentials(url, "shop", "secret")()
    with pytest.raises(InvalidOptions, match="shop is no address"):
        await ClientCredentials("shop", "shop", "secret")()


async def test_a_wrong_path_of_a_server_is_a_mistake_too() -> None:
    problem = '{"status": 401, "properties": {"errorCode": "UNAUTHORIZED"}}'
    async with endpoint(http("401 Unauthorized", problem)) as url:
        with pytest.raises(InvalidOptions, match="there is no token endpoint; check the address"):
            await ClientCredentials(url, "shop", "secret")()


async def test_other_metadata_goes_with_the_token() -> None:
    async with endpoint(http("200 OK", '{"access_token": "a"}')) as url:
        access = ClientCredentials(url, "shop", "secret", metadata={"x-region": "eu"})
        assert await access() == {"x-region": "eu", "authorization": "Bearer a"}


@pytest.mark.parametrize("one", LIFETIMES, ids=lambda one: str(one["expiresIn"]))
async def test_a_token_is_used_whatever_the_endpoint_says_about_its_life(
    one: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    said = "" if one["expiresIn"] is None else f', "expires_in": {one["expiresIn"]}'
    async with endpoint(http("200 OK", f'{{"access_token": "a"{said}}}')) as url:
        access = ClientCredentials(url, "shop", "secret")
        now = 1000.0
        clock = SimpleNamespace(monotonic=lambda: now)
        monkeypatch.setattr("interlock.credentials.time", clock)
        assert await access() == {"authorization": "Bearer a"}
    # The endpoint has gone, so whether the token is still used shows.
    life = one["seconds"]
    now += max(life - 31, 0)
    if life:
        assert await access() == {"authorization": "Bearer a"}
    now += 2
    with pytest.raises(ConnectionLost):
        await access()


async def test_an_endpoint_that_hangs_does_not_delay_the_end_of_a_program() -> None:
    program = """
import asyncio, sys
from interlock import ClientCredentials

async def main() -> None:
    asking = asyncio.ensure_future(ClientCredentials(sys.argv[1], "shop", "secret")())
    await asyncio.to_thread(sys.stdin.readline)
    asking.cancel()

asyncio.run(main())
"""
    asked = asyncio.Event()

    async def hang(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.set()
        with contextlib.suppress(ConnectionError):
            while not writer.is_closing():
                # Time limits are for the next bytes only, so this answer never ends.
                writer.write(b"H")
                await writer.drain()
                await asyncio.sleep(1)

    running = await asyncio.start_server(hang, "127.0.0.1")
    async with running:
        url = f"http://127.0.0.1:{running.sockets[0].getsockname()[1]}/token"
        ended = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", program, url), stdin=asyncio.subprocess.PIPE
        )
        try:
            async with asyncio.timeout(30):
                await asked.wait()
                await ended.communicate(b"\n")
        finally:
            if ended.returncode is None:
                ended.kill()
                await ended.wait()
    assert ended.returncode == 0
