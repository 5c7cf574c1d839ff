"""What the README of the repository and the tutorial show works when it is pasted."""

import asyncio
import os
import re
import sys
from asyncio.subprocess import PIPE, STDOUT
from pathlib import Path

from servers import BINARY, server

HERE = Path(__file__).parent
ROOT = HERE.parents[2]


def blocks(page: str, begin: str, end: str = "") -> list[tuple[str, str]]:
    """Take the code of a page between two headings, each block with its language."""
    text = (ROOT / page).read_text()
    part = text[text.index(f"\n## {begin}") : text.index(f"\n## {end}") if end else None]
    return re.findall(r"```(\w+)\n(.*?)```", part, re.DOTALL)


TUTORIAL = "src/help/topics/tutorial.md"


async def test_the_first_session_works_as_it_is_pasted(tmp_path: Path) -> None:
    async with server(CYODA_DISPATCH_WAIT_TIMEOUT="10s") as running:
        http = await running.says(r"interlock is ready .*http=\S+:(\d+)")

        def here(text: str) -> str:
            return (
                text.replace("localhost:8080", f"127.0.0.1:{http[1]}")
                .replace("localhost:9090", running.target)
                .replace("target/release/interlock", BINARY)
                .replace(".venv/bin/python", sys.executable)
            )

        found = blocks("README.md", "A first session", "What is guaranteed")
        (program,) = (text for language, text in found if language == "python")
        (tmp_path / "billing.py").write_text(here(program))
        found += blocks(TUTORIAL, "The workflow as a picture", "Messages")
        found += [("sh", "echo '== later'\n"), *blocks(TUTORIAL, "Messages")]
        scripts = [
            here(text)
            for language, text in found
            if language == "sh" and "pip install" not in text and "load.py" not in text
        ]
        os.symlink(HERE / "grpcurl", tmp_path / "grpcurl")
        venv = Path(sys.executable).parent
        path = os.pathsep.join([str(tmp_path), str(venv), os.environ["PATH"]])
        target = running.target.rpartition(":")
        shell = await asyncio.create_subprocess_exec(
            *("bash", "-m", "-e", "-o", "pipefail", "-c", "\n".join(scripts)),
            cwd=tmp_path,
            env={**os.environ, "PATH": path, "CYODA_GRPC_PORT": target[2]},
            stdout=PIPE,
            stderr=STDOUT,
        )
        output, _ = await shell.communicate()
    said, later = output.decode().split("== later\n")
    assert shell.returncode == 0, said + later
    assert "Model order:1 locked" in said
    assert '"state":"REVIEW","count":1' in said
    assert '"availableTransitions":["invoice"]' in said
    # By grpcurl, which shows the data of an event as a text.
    assert r"\"state\":\"ACCEPTED\"" in said
    assert '"tax":50.000' in said
    assert said.rstrip().endswith("}")
    assert '"state":"INVOICED"' in said
    assert '"state":"REVIEW"' in said.splitlines()[-1]
    assert 'success":false' not in said.replace("\\", "")
    assert '"path":"$.total"' in later
    assert '"status":4' not in later, later


def test_the_clients_readme_begins_with_the_same_member() -> None:
    shown = blocks("README.md", "A compute member in Python", "What is guaranteed")
    (member,) = (text for language, text in shown if language == "python")
    readme = (ROOT / "clients/python/README.md").read_text()
    assert readme.partition("```python\n")[2].startswith(member)
