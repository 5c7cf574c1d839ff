"""The scenarios that the clients of all languages share; see clients/conformance."""

import asyncio
import os
import sys
from asyncio.subprocess import PIPE, STDOUT
from pathlib import Path

from servers import BINARY

CONFORMANCE = Path(__file__).parents[2] / "conformance"


async def run(program: str, *arguments: str) -> tuple[int, str]:
    """Run a program of clients/conformance: its status, and what it prints."""
    running = await asyncio.create_subprocess_exec(
        sys.executable,
        str(CONFORMANCE / program),
        *arguments,
        env=os.environ | {"INTERLOCK_BIN": BINARY},
        stdout=PIPE,
        stderr=STDOUT,
    )
    try:
        # A scenario may wait for 10 s; together they take about 15 s.
        async with asyncio.timeout(240):
            printed, _ = await running.communicate()
    finally:
        if running.returncode is None:
            running.kill()
            await running.wait()
    assert running.returncode is not None
    return running.returncode, printed.decode()


async def test_the_client_behaves_as_the_scenarios_describe() -> None:
    status, printed = await run("run.py", "python")
    assert status == 0, printed


async def test_the_runner_reports_a_program_that_behaves_otherwise(tmp_path: Path) -> None:
    scenario = """{"about": "what never happens", "steps": [
        {"use": "client"},
        {"do": {"do": "call", "on": "c", "type": "AccountGetRequest", "payload": {}},
         "error": {"code": "NOT_FOUND"}}]}"""
    (tmp_path / "01-never.json").write_text(scenario)
    shared = CONFORMANCE / "scenarios/shared.json"
    (tmp_path / "shared.json").write_bytes(shared.read_bytes())
    status, printed = await run("run.py", "python", "--scenarios", str(tmp_path))
    assert status == 1, printed
    assert "python differs in 01-never" in printed


async def test_the_runner_knows_only_languages_that_are_there() -> None:
    status, printed = await run("run.py", "cobol")
    assert status == 1
    assert "cobol: no such language" in printed


async def test_the_benchmark_prints_a_table() -> None:
    few = ("--calls", "200", "--singles", "20", "--rounds", "1")
    status, printed = await run("benchmark.py", "python", "--driver", "python", *few)
    assert status == 0, printed
    assert "| python | " in printed
