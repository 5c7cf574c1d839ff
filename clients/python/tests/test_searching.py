"""The films of the topic `search`, searched through three clients as they are pasted."""

import asyncio
import json
import os
import sys
from asyncio.subprocess import PIPE, STDOUT
from pathlib import Path

from servers import server
from test_first_session import HERE, blocks


def invented() -> list[dict[str, object]]:
    """Make films of which each condition finds some and not all."""
    film = {
        "Title": "Quiet",
        "IMDB Rating": 5,
        "Running Time min": 90,
        "MPAA Rating": "R",
        "Release Date": "Jun 12 1998",
        "Major Genre": "Drama",
        "Director": None,
    }
    differences: list[dict[str, object]] = [
        {"IMDB Rating": 8.9},
        {"IMDB Rating": 9},
        {"Running Time min": 201},
        {"Running Time min": 240},
        {"MPAA Rating": "NC-17"},
        {"MPAA Rating": None},
        {"Title": None},
        {"Title": 1776},
        {"Title": "Star Trek: Again"},
        {"Title": "Dawn of the dead"},
        {"Title": "Rocky IV"},
        {"Release Date": "Feb 29 1980"},
        {"Director": "Steven Spielberg"},
        {"Director": "Steven Spielberg", "Major Genre": None},
        {"Director": "Steven Spielberg", "Major Genre": "Adventure"},
    ]
    return [film | difference for difference in differences]


REAL = os.environ.get("INTERLOCK_MOVIES")
"""Where the real films are, if they are to be used."""

FILMS = Path(REAL).read_text() if REAL else json.dumps(invented())


async def test_every_family_of_operators_finds_the_same_through_every_client(
    tmp_path: Path,
) -> None:
    found = blocks("src/help/topics/search.md", "Example")
    (tmp_path / "movies.json").write_text(FILMS)
    async with server() as running:
        http = await running.says(r"interlock is ready .*http=\S+:(\d+)")

        def here(text: str) -> str:
            return (
                text.replace("localhost:8080", f"127.0.0.1:{http[1]}")
                .replace("localhost:9090", running.target)
                .replace(".venv/bin/python", sys.executable)
            )

        (program,) = (text for language, text in found if language == "python")
        (tmp_path / "find.py").write_text(here(program))
        scripts = [
            here(text) for language, text in found if language == "sh" and "npm pack" not in text
        ]
        os.symlink(HERE / "grpcurl", tmp_path / "grpcurl")
        venv = Path(sys.executable).parent
        path = os.pathsep.join([str(tmp_path), str(venv), os.environ["PATH"]])
        shell = await asyncio.create_subprocess_exec(
            *("bash", "-e", "-o", "pipefail", "-c", "\n".join(scripts)),
            cwd=tmp_path,
            env={**os.environ, "PATH": path},
            stdout=PIPE,
            stderr=STDOUT,
        )
        output, _ = await shell.communicate()
    said = output.decode()
    assert shell.returncode == 0, said
    conditions = (tmp_path / "conditions").read_text().splitlines()
    lines = [line for line in said.splitlines() if " found by all: " in line]
    assert [line.partition(": ")[2] for line in lines] == conditions, said
    print("\n".join(lines))
    assert all(int(line.split()[0]) > 0 for line in lines), said
