"""The member: the three workflows that the workers of the manager name.

What is written with `context.client` is committed together with the end of the item, or not at all.
Files are written outside of that, because those in a folder belong to no transaction; an item
that is done again after a crash writes the same.
"""

import asyncio
from collections import Counter
from typing import Any

from interlock import Member, TaskContext

QUAKE = ("quake", 1)

CODES = "org.example.quakes"
"""What the user codes of the workers belong to."""

REPORT = "/report.json"
"""Where the report is written."""


class Deliveries:
    """How often each day was given to the member."""

    def __init__(self) -> None:
        self.by_day: Counter[str] = Counter()
        self._came = asyncio.Condition()

    async def came(self, day: str) -> None:
        """Take note of a delivery."""
        async with self._came:
            self.by_day[day] += 1
            self._came.notify_all()

    async def reached(self, number: int) -> None:
        """Wait for so many deliveries."""
        async with self._came:
            await self._came.wait_for(lambda: self.by_day.total() >= number)


def make_member(target: str, deliveries: Deliveries) -> Member:
    """Make the member; it has not joined yet."""
    member = Member(target)

    @member.workflow(f"{CODES}:import-day")
    async def import_day(item: Any, context: TaskContext) -> dict[str, Any]:
        file = await context.outside.files.get(item["file"])
        day = file.content
        await deliveries.came(day["day"])
        written = await context.client.create_many((QUAKE, report) for report in day["reports"])
        return {"imported": len(written.entity_ids)}

    @member.workflow(f"{CODES}:count")
    async def count(item: Any, context: TaskContext) -> None:
        groups = await context.outside.group(
            QUAKE,
            [item["by"]],
            aggregations=[{"op": "max", "field": "$.properties.mag", "as": "strongest"}],
        )
        rows = [
            {"name": group.key[item["by"]], "reports": group.count, **group.aggregations}
            for group in groups
        ]
        await context.outside.files.put(item["file"], {"by": item["by"], "groups": rows})

    @member.workflow(f"{CODES}:report")
    async def report(item: Any, context: TaskContext) -> None:
        parts = {}
        for name, path in item["statistics"].items():
            parts[name] = (await context.outside.files.get(path)).content["groups"]
        (counted,) = await context.outside.count(QUAKE)
        content = {"title": "Earthquakes of a week", "reports": counted.count, **parts}
        await context.outside.files.put(REPORT, content)

    return member
