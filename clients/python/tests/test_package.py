"""What is built can be used without the sources."""

import asyncio
import shutil
import sys
from pathlib import Path

PACKAGE = Path(__file__).parents[1]
REPOSITORY = PACKAGE.parents[1]


async def run(*arguments: str, cwd: Path) -> str:
    process = await asyncio.create_subprocess_exec(
        sys.executable, *arguments, cwd=cwd, stdout=asyncio.subprocess.PIPE
    )
    said, _ = await process.communicate()
    assert process.returncode == 0
    return said.decode().strip()


async def test_a_build_makes_the_module_that_is_generated(tmp_path: Path) -> None:
    checkout, built = tmp_path / "checkout", tmp_path / "built"
    package = checkout / PACKAGE.relative_to(REPOSITORY)
    not_committed = shutil.ignore_patterns("cloudevents_pb2.*", "*.egg-info", "build", ".*_cache")
    shutil.copytree(PACKAGE, package, ignore=not_committed)
    shutil.copytree(REPOSITORY / "proto", checkout / "proto")
    await run("setup.py", "--quiet", "build", "--build-lib", str(built), cwd=package)
    # `-c` looks in the working directory first, so what is imported is what was built.
    imported = "import interlock; print(interlock.cloudevents_pb2.__file__)"
    assert await run("-c", imported, cwd=built) == str(built / "interlock/cloudevents_pb2.py")
