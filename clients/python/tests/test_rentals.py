"""The example of sagas, in a short form: fewer rentals, and the same two deaths."""

import asyncio
import json
import os
import re
import sys
from asyncio.subprocess import PIPE, STDOUT
from pathlib import Path

import pytest
from servers import BINARY

EXAMPLE = Path(__file__).parents[1] / "examples/rentals"
REAL = os.environ.get("INTERLOCK_MOVIES")
"""Where the real films are, if they are to be used."""


def invented() -> list[dict[str, object]]:
    """Make films with a few copies each, and odd titles."""
    odd: list[dict[str, object]] = [
        {"Title": 1776, "IMDB Rating": 7, "IMDB Votes": 4099},
        {"Title": None, "IMDB Rating": None, "IMDB Votes": None},
        {"Title": 'Tabs\tand \\ and "quotes"', "IMDB Rating": 8.5, "IMDB Votes": 14_000},
    ]
    return odd + [{"Title": f"Film {number}", "IMDB Votes": 60_000} for number in range(30)]


async def run(*arguments: str | Path) -> tuple[int | None, str]:
    program = await asyncio.create_subprocess_exec(
        *(sys.executable, "-u", EXAMPLE / "rentals.py", *arguments),
        stdout=PIPE,
        stderr=STDOUT,
        cwd="/",
    )
    said, _ = await program.communicate()
    return program.returncode, said.decode()


async def test_stock_charges_refunds_and_mails_add_up(tmp_path: Path) -> None:
    films = Path(REAL) if REAL else tmp_path / "movies.json"
    if not REAL:
        films.write_text(json.dumps(invented()))
    code, said = await run("--program", BINARY, "--films", films, "--rentals", "80")
    if "PostgreSQL is not installed" in said:
        print(f"SKIPPED: {said.strip()}")
        pytest.skip("PostgreSQL is not installed (there is no initdb)")
    assert code == 0, said
    assert said.count("the payment server has died") == 2, said
    figures = re.findall(r"^ +(\S.*?) +([\d.]+) +([\d.]+)$", said, re.MULTILINE)
    assert len(figures) >= 20, said
    assert all(expected == found for _, expected, found in figures), said
    found = {name: count for name, _, count in figures}
    assert found["rentals"] == "80"
    for some in ("returned", "undone", "charges", "refused cards", "refunds", "shipped", "sorry"):
        assert int(found[some]) > 0, said
    assert said.endswith("Everything adds up.\n")


async def test_what_is_missing_is_said_in_plain_words(tmp_path: Path) -> None:
    for arguments, expected in (
        (("--program", "/no/such"), "/no/such is not a program"),
        (("--program", BINARY, "--films", "/no/such"), "npm pack"),
    ):
        code, said = await run(*arguments)
        assert code == 1
        assert expected in said
        assert "Traceback" not in said
