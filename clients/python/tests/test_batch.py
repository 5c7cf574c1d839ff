"""The example of managers: a batch with a mistake and a crash, in both places of files."""

import asyncio
import re
import sys
from asyncio.subprocess import PIPE, STDOUT
from pathlib import Path

from servers import BINARY

EXAMPLE = Path(__file__).parents[1] / "examples/batch"


async def run(*arguments: str) -> tuple[int | None, str]:
    program = await asyncio.create_subprocess_exec(
        *(sys.executable, "-u", str(EXAMPLE / "batch.py"), *arguments),
        stdout=PIPE,
        stderr=STDOUT,
        cwd="/",
    )
    said, _ = await program.communicate()
    return program.returncode, said.decode()


async def check(*arguments: str) -> None:
    code, said = await run("--program", BINARY, *arguments)
    # pytest shows it with a test that fails.
    print(said)
    assert code == 0
    assert said.count("the service was killed") == 1
    assert re.search(r"^2018-02-03 ended with an error: .*INCOMPATIBLE_TYPE", said, re.MULTILINE)
    assert "reset" in said
    table = said.partition("before the mistake was corrected")[2]
    figures = re.findall(r"^ +(\S.*?) +(\S+) +(\S+)$", table, re.MULTILINE)
    assert len(figures) >= 20
    assert all(expected == found for _, expected, found in figures)
    assert ("reports", "1707", "1707") in figures
    assert said.endswith("Everything adds up.\n")


async def test_a_batch_ends_with_as_many_entities_as_reports_from_the_store() -> None:
    await check("--store")


async def test_the_same_batch_in_a_folder_that_people_edit() -> None:
    await check()


async def test_a_program_that_is_not_there_is_reported_in_plain_words() -> None:
    code, said = await run("--program", "/no/such")
    assert code == 1
    assert "/no/such is not a program" in said
    assert "Traceback" not in said
