"""Publish reports of earthquakes, have a run started for each, and kill the server twice meanwhile.

It starts the server that it kills, is the compute member, follows the runs through both crashes,
and ends with a table: as many runs and entities as reports, none twice.
"""

import argparse
import asyncio
import shutil
import sys
import tempfile
from collections import Counter
from contextlib import aclosing
from pathlib import Path
from typing import Any

from crashing import Server

from interlock import (
    Client,
    ConnectionLost,
    InterlockError,
    Member,
    NewEvent,
    Operations,
    TaskContext,
    documents,
)

HERE = Path(__file__).parent
REPORTS = HERE.parent / "earthquakes/data/earthquakes.json"
SAMPLE = HERE.parent / "earthquakes/models/earthquake.json"

TOPIC = "quakes"
WORKFLOW = "quake-report"
QUAKE, NOTICE = ("quake", 1), ("quake-notice", 1)

BATCH = 100
"""How many reports are published at a time."""


def make_member(target: str) -> Member:
    """Make the member; it has not joined yet."""
    member = Member(target, tags=["quakes"])

    @member.action("notify-strong")
    async def notify(strong: Any, context: TaskContext) -> dict[str, Any]:
        # Committed with the end of the step: after a crash the task is delivered again, and what
        # an unfinished delivery has written is gone.
        written = await context.client.create(
            NOTICE, {"report": strong["report"], "title": strong["title"]}
        )
        return {"notice": written.entity_id}

    return member


async def prepare(client: Operations) -> None:
    """Make the models, the action and the workflow."""
    sample = documents.decode(SAMPLE.read_text())
    await client.import_model(QUAKE, sample)
    await client.import_model(NOTICE, {"report": "ci37868143", "title": "M 2.5"})
    for model in (QUAKE, NOTICE):
        await client.lock_model(model)
    await client.import_workflows(QUAKE, [documents.decode((HERE / "quake.json").read_text())])
    await client.runs.actions.register("notify-strong")
    await client.runs.definitions.create((HERE / "quake-report.yaml").read_text())


async def publish(client: Operations, reports: list[dict[str, Any]]) -> None:
    """Publish every report once, whatever happens to the server."""
    for first in range(0, len(reports), BATCH):
        batch = [NewEvent(report, id=report["id"]) for report in reports[first : first + BATCH]]
        while True:
            try:
                await client.runs.topics.publish(TOPIC, batch)
                break
            except ConnectionLost:
                # It may have been published: an id that is there is not published again.
                await asyncio.sleep(0.1)


async def follow(client: Operations, ended: Counter[str], progress: asyncio.Condition) -> None:
    """Count the ends of runs, each once."""
    async with aclosing(client.runs.follow(definition=WORKFLOW, from_sequence=0)) as history:
        async for event in history:
            if event.is_last:
                async with progress:
                    ended[event.detail] += 1
                    progress.notify_all()


async def play(server: Server, reports: list[dict[str, Any]]) -> None:
    """Publish, kill twice, and wait for the end of every run."""
    ended: Counter[str] = Counter()
    progress = asyncio.Condition()
    async with Client(server.target) as client, make_member(server.target):
        await prepare(client)
        following = asyncio.create_task(follow(client, ended, progress))
        publishing = asyncio.create_task(publish(client, reports))
        for crash in (1, 2):
            part = crash * len(reports) // 3
            await until(ended, progress, part, following, publishing)
            await server.kill()
            print(f"the server was killed after {ended.total()} of {len(reports)} runs had ended")
            await server.start()
        await until(ended, progress, len(reports), following, publishing)
        await publishing
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
        await show(client, len(reports), ended)


async def until(
    ended: Counter[str], progress: asyncio.Condition, number: int, *working: asyncio.Task[None]
) -> None:
    """Wait until so many runs have ended, as long as those who work do not fail."""

    async def wait() -> None:
        async with progress:
            await progress.wait_for(lambda: ended.total() >= number)

    waiting = asyncio.create_task(wait())
    pending: set[asyncio.Task[None]] = {waiting, *working}
    while not waiting.done():
        done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()


async def show(client: Operations, number: int, ended: Counter[str]) -> None:
    """Print the table, and check that nothing was done twice."""
    runs = [run.run_id async for run in client.runs.list(WORKFLOW)]
    quakes = [quake async for quake in client.list_entities(QUAKE, page_size=10_000)]
    notices = client.list_entities(NOTICE, page_size=10_000)
    reports = [quake.data["id"] for quake in quakes]
    noticed = [notice.data["report"] async for notice in notices]
    states = Counter(quake.state for quake in quakes)
    print(f"\n{'ended as':<20}{'runs':>8}")
    for terminal, count in sorted(ended.items()):
        print(f"  {terminal:<18}{count:>8}")
    print(f"  {'together':<18}{ended.total():>8}")
    print(f"\n{'quake':<20}{'entities':>8}")
    for state, count in sorted(states.items()):
        print(f"  {state:<18}{count:>8}")
    print(f"  {'together':<18}{len(quakes):>8}")
    print(
        f"\n{number} reports, {len(set(runs))} runs, {len(set(reports))} quakes, "
        f"{len(set(noticed))} notices"
    )
    doubles = {
        "run": len(runs) - len(set(runs)),
        "quake": len(reports) - len(set(reports)),
        "notice": len(noticed) - len(set(noticed)),
        "end": ended.total() - number,
    }
    print("doubles: " + ", ".join(f"{name} {count}" for name, count in doubles.items()))
    if any(doubles.values()) or not len(runs) == len(quakes) == number:
        sys.exit("\nSomething was lost, or done twice.")


async def run(arguments: argparse.Namespace) -> None:
    """Start a server in a folder that is deleted in the end."""
    reports = documents.decode(REPORTS.read_text())["features"][: arguments.reports]
    with tempfile.TemporaryDirectory() as folder:
        server = Server(arguments.program, Path(folder))
        await server.start()
        try:
            await play(server, reports)
        finally:
            await server.kill()


def main() -> None:
    """Say in plain words what is missing, if something is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--program", default="target/release/interlock", help="the server, which is started"
    )
    parser.add_argument("--reports", type=int, help="how many reports; all 1707 by default")
    arguments = parser.parse_args()
    if shutil.which(arguments.program) is None:
        sys.exit(f"{arguments.program} is not a program; build it with `cargo build --release`")
    arguments.program = str(Path(shutil.which(arguments.program) or "").resolve())
    try:
        asyncio.run(run(arguments))
    except InterlockError as error:
        sys.exit(f"\n{error}")


if __name__ == "__main__":
    main()
