"""What is built can be used without the sources."""

import asyncio
import shutil
import sys
import tomllib
from pathlib import Path

import generate

from interlock.version import VERSION

PACKAGE = Path(__file__).parents[1]
REPOSITORY = PACKAGE.parents[1]


async def run(*arguments: str, cwd: Path) -> str:
    process = await asyncio.create_subprocess_exec(
        sys.executable, *arguments, cwd=cwd, stdout=asyncio.subprocess.PIPE
    )
    said, _ = await process.communicate()
    assert process.returncode == 0
    return said.decode().strip()


async def test_a_build_has_everything_that_is_imported(tmp_path: Path) -> None:
    package, built = tmp_path / "package", tmp_path / "built"
    made_by_tools = shutil.ignore_patterns("*.egg-info", "build", ".*_cache", "__pycache__")
    shutil.copytree(PACKAGE, package, ignore=made_by_tools)
    build = "from setuptools import setup; setup()"
    await run("-c", build, "--quiet", "build", "--build-lib", str(built), cwd=package)
    # `-c` looks in the working directory first, so what is imported is what was built.
    imported = "import interlock.api.payloads; print(interlock.__file__)"
    assert await run("-c", imported, cwd=built) == str(built / "interlock/__init__.py")
    assert (built / "interlock/py.typed").is_file()


def test_the_licenses_of_the_packages_are_that_of_the_repository() -> None:
    license_text = (REPOSITORY / "LICENSE").read_text()
    for client in ("python", "typescript"):  # pip and npm take only what is beside the package
        assert (PACKAGE.parent / client / "LICENSE").read_text() == license_text


def test_the_versions_of_the_client_and_of_the_server_are_equal() -> None:
    server = tomllib.loads((REPOSITORY / "Cargo.toml").read_text())["package"]["version"]
    assert server == VERSION


def test_generated_files_are_as_the_schemas_and_the_protocol_say() -> None:
    assert generate.drift() == []
