"""What the page for existing applications shows works, and its table is complete."""

import asyncio
import re
import shlex
import sys
from asyncio.subprocess import PIPE, STDOUT
from pathlib import Path

import pytest
from servers import server

REPOSITORY = Path(__file__).parents[3]
PAGE = (REPOSITORY / "clients/existing-applications.md").read_text()


def block(language: str) -> str:
    """Return the block of code in a language."""
    found = re.search(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    return found[1]


async def run(*command: str, folder: Path, **variables: str) -> str:
    """Run a command, and return what it prints."""
    running = await asyncio.create_subprocess_exec(
        *command, cwd=folder, env=variables, stdout=PIPE, stderr=STDOUT
    )
    try:
        async with asyncio.timeout(60):
            printed, _ = await running.communicate()
    finally:
        if running.returncode is None:
            running.kill()
            await running.wait()
    assert running.returncode == 0, printed.decode()
    return printed.decode()


@pytest.mark.parametrize("profile", ["documented", "cyoda-0.8"])
async def test_an_application_of_the_documented_api_works(profile: str, tmp_path: Path) -> None:
    (install, generate) = block("sh").strip().splitlines()
    assert install.startswith("pip install ")  # what the test environment has anyway
    (_, *words) = shlex.split(generate.replace("proto/", f"{REPOSITORY}/proto/"))
    await run(sys.executable, *words, folder=tmp_path)
    async with server(INTERLOCK_COMPAT=profile) as running:
        printed = await run(
            sys.executable,
            "-c",
            block("python"),
            folder=tmp_path,
            CYODA_REST=f"{running.rest}/api",
            CYODA_GRPC=running.target,
        )
    assert "{'price': 12, 'quantity': 4}" in printed or "{'quantity': 4, 'price': 12}" in printed


def test_every_difference_between_the_profiles_is_in_the_table() -> None:
    switches = re.findall(r"pub const fn (\w+)\(self\)", (REPOSITORY / "src/compat.rs").read_text())
    assert re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE) == switches
