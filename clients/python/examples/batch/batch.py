"""Import a week of earthquakes as a batch that people can read, with a mistake and a crash.

The reports are cut into one file for each day. A manager has three workers: the first imports the
days, the second counts what was imported, and the third writes a report. One file has a mistake,
which is corrected, and its item is reset; and the service is killed once meanwhile.
"""

import argparse
import asyncio
import contextlib
import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from days import Day, read_days
from outcome import Found, as_tables, compare, look
from shell import NotDone, Shell
from workflows import CODES, QUAKE, Deliveries, make_member

from interlock import Client, ConnectionLost, InterlockError, Operations, documents

HERE = Path(__file__).parent
SAMPLE = HERE.parent / "earthquakes/models/earthquake.json"

WRONG = "2018-02-03"
"""The day whose file has a mistake."""

DELIVERIES_BEFORE_THE_CRASH = 3
"""How many items have been given to the member when the service is killed."""

STATISTICS = {
    "networks": ("$.properties.net", "/statistics/networks.json"),
    "kinds": ("$.properties.type", "/statistics/kinds.json"),
}
"""What is counted by what, and where the result is written."""

LOOK_EVERY = 0.2
"""How often the manager is read, in seconds."""

PATIENCE = 120.0
"""How long the batch may take to get somewhere, in seconds."""


def manager(days: list[Day]) -> dict[str, Any]:
    """Make the document of the manager."""

    def worker(order: int, code: str, items: dict[str, dict[str, Any]]) -> dict[str, Any]:
        return {
            "order": order,
            "configuration_code": CODES,
            "user_code": code,
            "items": [
                {
                    "name": name,
                    "status": "to-do",
                    "state_path": f"/states/items/{code}-{name}.json",
                    "payload": payload,
                }
                for name, payload in items.items()
            ],
        }

    written = {name: path for name, (_by, path) in STATISTICS.items()}
    return {
        "configuration_code": CODES,
        "user_code": "import-week",
        "name": "A week of earthquakes",
        "workers": [
            worker(1, "import-day", {day.name: {"file": day.path} for day in days}),
            worker(
                2,
                "count",
                {name: {"by": by, "file": path} for name, (by, path) in STATISTICS.items()},
            ),
            worker(3, "report", {"report": {"statistics": written}}),
        ],
    }


class Batch:
    """A manager that is watched."""

    def __init__(self, client: Operations, name: str) -> None:
        self._client = client
        self._name = name
        self._shown: list[str] = []

    async def document(self) -> dict[str, Any]:
        """Read the manager; while the service is down, wait."""
        while True:
            with contextlib.suppress(ConnectionLost):
                document: dict[str, Any] = (await self._client.managers.get(self._name)).document
                return document

    async def reached(self, *, worker: int | None = None, status: str) -> dict[str, Any]:
        """Wait until the manager, or one of its workers, has a status; print how it gets there."""
        async with asyncio.timeout(PATIENCE):
            while True:
                document = await self.document()
                self._show(document)
                part = document if worker is None else document["workers"][worker]
                if part.get("status") == status:
                    return document
                await asyncio.sleep(LOOK_EVERY)

    def _show(self, document: dict[str, Any]) -> None:
        lines = [
            f"  {worker['user_code']:<12}{worker.get('status', 'to-do'):<14}{statuses(worker)}"
            for worker in document["workers"]
        ]
        if lines != self._shown:
            print("\n".join([f"{document.get('status', 'to-do')}", *lines]))
            self._shown = lines


def statuses(worker: dict[str, Any]) -> str:
    """Say how many items of a worker have which status."""
    counts: dict[str, int] = {}
    for item in worker["items"]:
        counts[item["status"]] = counts.get(item["status"], 0) + 1
    return ", ".join(f"{count} {status}" for status, count in counts.items())


async def prepare(client: Operations) -> None:
    """Make the model."""
    await client.import_model(QUAKE, documents.decode(SAMPLE.read_text()))
    await client.lock_model(QUAKE)


async def play(shell: Shell, folder: Path, days: list[Day], *, store: bool) -> Found:
    """Run the batch, kill the service, correct the mistake, and look what came of it."""
    files, deliveries = folder / "files", Deliveries()
    wrong = next(day for day in days if day.name == WRONG)
    (folder / "batch.json").write_text(json.dumps(manager(days), indent=2))
    async with Client(shell.target) as client, make_member(shell.target, deliveries):
        await prepare(client)
        if store:
            print(await shell.command("files", "push", str(files)))
        name = await shell.command("manager", "create", "-f", str(folder / "batch.json"))
        print(name)
        batch = Batch(client, name)

        async with asyncio.timeout(PATIENCE):
            await deliveries.reached(DELIVERIES_BEFORE_THE_CRASH)
        await shell.kill()
        print(f"the service was killed when {deliveries.by_day.total()} days had been delivered")
        await shell.start()

        stopped = await batch.reached(worker=0, status="error")
        # Ticks change nothing now.
        print(await shell.command("manager", "tick"))
        stopped = await batch.document()
        imported = len([one async for one in client.list_entities(QUAKE, page_size=10_000)])
        for item in stopped["workers"][0]["items"]:
            if item["status"] == "error":
                print(f"{item['name']} ended with an error: {item['error']}")

        wrong.write(files)
        if store:
            print(await shell.command("files", "push", str(files)))
        reset = ("manager", "reset", name, "--worker", "import-day", "--item", WRONG)
        print(await shell.command(*reset))
        done = await batch.reached(status="done")
        if store:
            print(await shell.command("files", "pull", str(files)))
        return await look(client, files, stopped, done, imported, deliveries)


async def run(arguments: argparse.Namespace) -> bool:
    """Run the batch in a folder that is deleted in the end; whether everything adds up."""
    days = read_days()
    with tempfile.TemporaryDirectory(prefix="batch-") as name:
        folder = Path(name)
        files = folder / "files"
        for day in days:
            (day.write_with_a_mistake if day.name == WRONG else day.write)(files)
        shell = Shell(arguments.program, folder, None if arguments.store else files)
        await shell.start()
        try:
            found = await play(shell, folder, days, store=arguments.store)
        finally:
            await shell.kill()
    figures = compare(days, WRONG, len(STATISTICS), found)
    print("\n" + as_tables(figures))
    return all(figure.is_right for part in figures.values() for figure in part)


def main() -> None:
    """Say in plain words what is missing, if something is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--program", default="target/release/interlock", help="the service, which is started"
    )
    parser.add_argument(
        "--store",
        action="store_true",
        help="keep the files in the service's store; by default they are in a folder",
    )
    arguments = parser.parse_args()
    program = shutil.which(arguments.program)
    if program is None:
        sys.exit(f"{arguments.program} is not a program; build it with `cargo build --release`")
    arguments.program = str(Path(program).resolve())
    try:
        adds_up = asyncio.run(run(arguments))
    except TimeoutError:
        sys.exit(f"\nThe batch did not move for {PATIENCE:g} s.")
    except (InterlockError, NotDone) as error:
        sys.exit(f"\n{error}")
    if not adds_up:
        sys.exit("\nThe figures do not add up.")
    print("\nEverything adds up.")


if __name__ == "__main__":
    main()
