"""The scenarios that the clients of all languages share; see clients/conformance."""

import asyncio
import os
import sys
from asyncio.subprocess import PIPE, STDOUT
from pathlib import Path

from servers import BINARY

RUNNER = Path(__file__).parents[2] / "conformance/run.py"


async def test_the_client_behaves_as_the_scenarios_describe() -> None:
    # A scenario may wait for 10 s; together they take about 12 s.
    running = await asyncio.create_subprocess_exec(
        sys.executable,
        str(RUNNER),
        "python",
        env=os.environ | {"INTERLOCK_BIN": BINARY},
        stdout=PIPE,
        stderr=STDOUT,
    )
    try:
        async with asyncio.timeout(240):
            printed, _ = await running.communicate()
    finally:
        if running.returncode is None:
            running.kill()
            await running.wait()
    assert running.returncode == 0, printed.decode()


async def test_the_runner_reports_a_program_that_behaves_otherwise(tmp_path: Path) -> None:
    scenario = """{"about": "what never happens", "steps": [
        {"use": "client"},
        {"do": {"do": "call", "on": "c", "type": "AccountGetRequest", "payload": {}},
         "error": {"code": "NOT_FOUND"}}]}"""
    (tmp_path / "01-never.json").write_text(scenario)
    (tmp_path / "shared.json").write_bytes((RUNNER.parent / "scenarios/shared.json").read_bytes())
    running = await asyncio.create_subprocess_exec(
        sys.executable,
        str(RUNNER),
        "python",
        "--scenarios",
        str(tmp_path),
        env=os.environ | {"INTERLOCK_BIN": BINARY},
        stdout=PIPE,
        stderr=STDOUT,
    )
    async with asyncio.timeout(60):
        printed, _ = await running.communicate()
    assert running.returncode == 1, printed.decode()
    assert "python differs in 01-never" in printed.decode()
