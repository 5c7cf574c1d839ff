"""The example, as its README tells to run it."""

import asyncio
import re
import signal
import sys
from asyncio.subprocess import PIPE, STDOUT, Process
from pathlib import Path

import pytest
from servers import Server, server

from interlock import Client, Entity

EXAMPLE = Path(__file__).parents[1] / "examples/earthquakes"
REPORT, ALERT = ("earthquake", 1), ("earthquake-alert", 1)

STATES = {
    "ROUTINE": 1362,
    "NOTABLE": 177,
    "AWAITING_REVIEW": 96,
    "ALERTED": 44,
    "SET_ASIDE": 28,
    "together": 1707,
}


async def start(program: str, *arguments: str) -> Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, "-u", EXAMPLE / program, *arguments, stdout=PIPE, stderr=STDOUT, cwd="/"
    )


async def run(program: str, *arguments: str) -> tuple[int, str]:
    process = await start(program, *arguments)
    said, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, said.decode()


def table(said: str) -> dict[str, int]:
    """Read the first of the tables that were printed."""
    rows = said.partition("earthquake           entities\n")[2].partition("\n\n")[0].splitlines()
    return {state: int(count) for state, count in map(str.split, rows)}


async def entities(running: Server, model: tuple[str, int]) -> list[Entity]:
    async with Client(running.target) as client:
        return [entity async for entity in client.list_entities(model, page_size=10_000)]


async def test_all_reports_are_loaded_once() -> None:
    async with server() as running:
        arguments = ("--with-member", "--server", running.target)
        code, said = await run("load.py", *arguments)
        assert code == 0, said
        assert "1707 reports added" in said
        assert "13 automatic reports from magnitude 3 on confirmed" in said
        assert table(said) == STATES
        reports = {entity.data["id"]: entity for entity in await entities(running, REPORT)}
        alerts = await entities(running, ALERT)

        code, said = await run("load.py", *arguments)
        assert code == 0, said
        assert "1707 of them are there already" in said
        assert "0 reports added" in said
        assert table(said) == STATES
        assert len(await entities(running, REPORT)) == 1707

    assert len(reports) == 1707
    for alert in alerts:
        report = reports.pop(alert.data["reportId"])
        assert (report.state, report.data["alertId"]) == ("ALERTED", alert.id)
    assert not any(report.state == "ALERTED" for report in reports.values())
    reviewed = [report for report in reports.values() if "review" in report.data]
    assert len(reviewed) == 13
    assert {(one.state, one.data["properties"]["status"]) for one in reviewed} == {
        ("NOTABLE", "reviewed")
    }
    # As in the file, to the last digit.
    assert str(reports["ci37868143"].data["geometry"]["coordinates"][0]) == "-118.6671667"
    assert reports["ci37868143"].data["assessment"]["energyJoules"] == 63_095_734


async def test_member_and_loader_can_be_two_programs() -> None:
    async with server(CYODA_DISPATCH_WAIT_TIMEOUT="10s") as running:
        member = await start("member.py", "--server", running.target)
        code, said = await run("load.py", "--server", running.target)
        assert code == 0, said
        assert table(said) == STATES
        member.send_signal(signal.SIGTERM)
        said_by_member, _ = await member.communicate()
        assert member.returncode == 0, said_by_member.decode()


@pytest.mark.parametrize("member", [[], ["--with-member"]])
async def test_a_server_that_does_not_run_is_reported_in_plain_words(member: list[str]) -> None:
    code, said = await run("load.py", "--server", "127.0.0.1:1", "--timeout", "0.2", *member)
    assert code == 1
    assert re.search(r"no answer from 127\.0\.0\.1:1 .*\nIs the server running\?", said)
    assert "Traceback" not in said


async def test_a_member_that_does_not_run_is_reported_in_plain_words() -> None:
    async with server() as running:
        code, said = await run("load.py", "--server", running.target)
    assert code == 1
    assert "No member serves the tag `earthquakes`" in said
    assert "Traceback" not in said
