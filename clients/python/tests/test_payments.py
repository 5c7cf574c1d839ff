"""The example, as its README tells to run it."""

import asyncio
import re
import sys
from asyncio.subprocess import PIPE, STDOUT
from pathlib import Path

from servers import server

from interlock import Client

EXAMPLE = Path(__file__).parents[1] / "examples/payments"
README = (EXAMPLE / "README.md").read_text()

STATES = {
    "P-1001": "APPROVED",
    "P-1002": "APPROVED",
    "P-1003": "DECLINED",
    "P-1004": "CANCELED",
    "P-1005": "PENDING",
    "P-1006": "INVALID",
    "P-1007": "SUBMITTED",
}


async def run(*arguments: str) -> tuple[int, str]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, EXAMPLE / "payments.py", *arguments, stdout=PIPE, stderr=STDOUT, cwd="/"
    )
    said, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, said.decode()


async def test_payments_go_their_ways_once() -> None:
    (shown,) = re.findall(r"```text\n(.*?)```", README, re.DOTALL)
    (diagram,) = re.findall(r"```mermaid\n(.*?)```", README, re.DOTALL)
    table, *explanations = shown.strip().split("\n\n")
    async with server() as running:
        code, first = await run("--server", running.target)
        assert code == 0, first
        assert "7 payments requested" in first
        assert "P-1003: the bank does not answer; the server tries again" in first
        code, again = await run("--server", running.target)
        assert code == 0, again
        assert "0 payments requested" in again
        for part in (table, diagram, *explanations):
            assert part in first
            assert part in again
        assert first.partition(table)[2] == again.partition(table)[2]

        async with Client(running.target) as client:
            payments = [one async for one in client.list_entities(("payment", 1))]
            assert {one.data["reference"]: one.state for one in payments} == STATES
            sent = [one.data async for one in client.list_entities(("instruction", 1))]
            attempts = {one["payment"]: one["attempt"] for one in sent}
            assert attempts == {f"P-100{n}": 2 if n == 3 else 1 for n in (1, 2, 3, 4, 7)}
            assert len(sent) == 5
            notices = [one.data["payment"] async for one in client.list_entities(("notice", 1))]
            assert sorted(notices) == ["P-1001", "P-1002", "P-1003", "P-1004"]


async def test_a_server_that_does_not_run_is_reported_in_plain_words() -> None:
    code, said = await run("--server", "127.0.0.1:1", "--timeout", "0.2")
    assert code == 1
    assert "no answer from 127.0.0.1:1" in said
    assert "Is the server running?" in said
    assert "Traceback" not in said
