"""Load a week of earthquake reports, have some of them reviewed, and show what became of them.

Run it with `python load.py` while `python member.py` runs elsewhere, or all at once with
`python load.py --with-member`.
"""

import argparse
import asyncio
import sys
from collections.abc import Awaitable, Sequence
from pathlib import Path
from typing import Any

from member import ALERT, TAG, make_member

from interlock import (
    Client,
    ConnectionLost,
    ModelName,
    NoComputeMember,
    Operations,
    WorkflowNotFound,
    documents,
)

HERE = Path(__file__).parent

REPORT = ("earthquake", 1)

REVIEW_FROM_MAGNITUDE = 3
"""From which magnitude on automatic reports are confirmed; the others go on waiting."""

WORTH_A_REVIEW = {
    "type": "group",
    "operator": "AND",
    "conditions": [
        {
            "type": "lifecycle",
            "field": "state",
            "operatorType": "EQUALS",
            "value": "AWAITING_REVIEW",
        },
        {
            "type": "simple",
            "jsonPath": "$.properties.mag",
            "operatorType": "GREATER_OR_EQUAL",
            "value": REVIEW_FROM_MAGNITUDE,
        },
    ],
}


async def load(client: Operations) -> None:
    """Do everything that has not been done yet."""
    for model in (ALERT, REPORT):
        await prepare(client, model)
    reports = read("data/earthquakes")["features"]
    # One page, the largest there is, holds them all.
    there = {entity.data["id"] async for entity in client.list_entities(REPORT, page_size=10_000)}
    missing = [report for report in reports if report["id"] not in there]
    print(f"{len(reports)} reports in the file, {len(there)} of them are there already")
    if missing:
        await together("adding", [client.create(REPORT, report) for report in missing])
    print(f"{len(missing)} reports added")

    waiting = [entity.id async for entity in client.search(REPORT, WORTH_A_REVIEW, limit=10_000)]
    if waiting:
        await together("confirming", [client.transition(one, "confirm") for one in waiting])
    print(f"{len(waiting)} automatic reports from magnitude {REVIEW_FROM_MAGNITUDE} on confirmed")
    for model in (REPORT, ALERT):
        await show(client, model)


async def prepare(client: Operations, model: ModelName) -> None:
    """Import and lock a model, and import its workflow, where that has not been done yet."""
    name, _version = model
    known = {known.key: known for known in await client.list_models()}
    if model not in known:
        await client.import_model(model, read(f"models/{name}"))
        print(f"model {name} imported")
    if model not in known or not known[model].is_locked:
        await client.lock_model(model)
    try:
        await client.export_workflows(model)
    except WorkflowNotFound:
        await client.import_workflows(model, [read(f"workflows/{name}")])
        print(f"workflow of {name} imported")


async def together(what: str, requests: Sequence[Awaitable[Any]]) -> None:
    """Make requests side by side; the client sees to it that not too many are in flight."""
    progress = Progress(what, len(requests))

    async def one(request: Awaitable[Any]) -> None:
        await request
        progress.step()

    async with asyncio.TaskGroup() as group:
        for request in requests:
            group.create_task(one(request))


async def show(client: Operations, model: ModelName) -> None:
    """Print how many entities are in which state."""
    counts = sorted(await client.count_by_state(model), key=lambda count: -count.count)
    print(f"\n{model[0]:<20} entities")
    for count in counts:
        print(f"  {count.state:<18} {count.count:>8}")
    print(f"  {'together':<18} {sum(count.count for count in counts):>8}")


def read(name: str) -> Any:
    """Read one of the example's JSON files."""
    return documents.decode((HERE / f"{name}.json").read_text())


class Progress:
    """A bar that grows, where somebody looks."""

    WIDTH = 40

    def __init__(self, what: str, expected: int) -> None:
        self._what = what
        self._expected = expected
        self._done = 0

    def step(self) -> None:
        """Take note that one more is done."""
        self._done += 1
        if sys.stderr.isatty():
            bar = "█" * (self.WIDTH * self._done // self._expected)
            end = "\n" if self._done == self._expected else ""
            line = f"\r{self._what} {bar:░<{self.WIDTH}} {self._done}/{self._expected}"
            print(line, end=end, file=sys.stderr, flush=True)


async def run(arguments: argparse.Namespace) -> None:
    """Connect and load."""
    if arguments.with_member:
        async with make_member(arguments.server, arguments.timeout) as member:
            await load(member.client)
    else:
        async with Client(arguments.server, connect_timeout=arguments.timeout) as client:
            await load(client)


def main() -> None:
    """Say in plain words what is missing, if something is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server", default="localhost:9090", help="its gRPC port, as host:port")
    parser.add_argument(
        "--with-member", action="store_true", help="be the compute member as well, on one stream"
    )
    parser.add_argument(
        "--timeout", type=float, default=5, help="how long to wait for the server, in seconds"
    )
    problem = ""
    try:
        asyncio.run(run(parser.parse_args()))
    except* ConnectionLost as lost:
        problem = f"{first(lost)}\nIs the server running? `interlock` starts it."
    except* NoComputeMember:
        problem = (
            f"No member serves the tag `{TAG}`, so the reports cannot be assessed.\n"
            "Start `python member.py` in another terminal, or add --with-member."
        )
    if problem:
        sys.exit(f"\n{problem}")


def first(group: BaseExceptionGroup[Any]) -> BaseException:
    """Give the first of the errors that many requests ended with."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


if __name__ == "__main__":
    main()
