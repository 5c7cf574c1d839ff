"""The example of a trigger, in a short form: fewer reports, and the same two crashes."""

import asyncio
import re
import sys
from asyncio.subprocess import PIPE, STDOUT
from pathlib import Path

from servers import BINARY

EXAMPLE = Path(__file__).parents[1] / "examples/quakes"


async def test_every_report_has_one_run_and_one_entity_although_the_server_is_killed() -> None:
    arguments = ("--program", BINARY, "--reports", "150")
    program = await asyncio.create_subprocess_exec(
        sys.executable, "-u", EXAMPLE / "quakes.py", *arguments, stdout=PIPE, stderr=STDOUT, cwd="/"
    )
    said_bytes, _ = await program.communicate()
    said = said_bytes.decode()
    assert program.returncode == 0, said
    assert len(re.findall(r"^the server was killed after", said, re.MULTILINE)) == 2
    assert re.search(r"^150 reports, 150 runs, 150 quakes, \d+ notices$", said, re.MULTILINE)
    assert "doubles: run 0, quake 0, notice 0, end 0" in said
    ended = re.search(r"Notified +(\d+)", said)
    strong = re.search(r"STRONG +(\d+)", said)
    assert ended is not None
    assert strong is not None
    assert ended[1] == strong[1]
    assert int(strong[1]) > 0


async def test_a_program_that_is_not_there_is_reported_in_plain_words() -> None:
    program = await asyncio.create_subprocess_exec(
        sys.executable, EXAMPLE / "quakes.py", "--program", "/no/such", stdout=PIPE, stderr=STDOUT
    )
    said, _ = await program.communicate()
    assert program.returncode == 1
    assert b"/no/such is not a program" in said
