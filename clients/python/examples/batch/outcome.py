"""What came of the batch, beside what was to be expected from the data."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from days import Day, all_reports, day_of
from workflows import QUAKE, REPORT, Deliveries

from interlock import Operations, documents


@dataclass(frozen=True)
class Figure:
    """A number that is known in advance, and what it is."""

    name: str
    expected: object
    found: object

    @property
    def is_right(self) -> bool:
        """Whether it is what was expected."""
        return self.expected == self.found


@dataclass(frozen=True)
class Found:
    """What is there at the end."""

    stopped: dict[str, Any]
    """The manager after the mistake was found."""
    done: dict[str, Any]
    """The manager at the end."""
    imported: int
    """How many entities there were before the mistake was corrected."""
    quakes: list[dict[str, Any]]
    """The documents of all entities."""
    report: dict[str, Any]
    deliveries: Counter[str]


async def look(
    client: Operations,
    files: Path,
    stopped: dict[str, Any],
    done: dict[str, Any],
    imported: int,
    deliveries: Deliveries,
) -> Found:
    """Read the entities from the service and the report from the folder."""
    quakes = [quake.data async for quake in client.list_entities(QUAKE, page_size=10_000)]
    report = documents.decode((files / REPORT.removeprefix("/")).read_text())
    return Found(stopped, done, imported, quakes, report, deliveries.by_day)


def compare(days: list[Day], wrong: str, statistics: int, found: Found) -> dict[str, list[Figure]]:
    """Put each figure that follows from the data beside the one that was found."""
    reports = list(all_reports(days))
    by_day = Counter(map(day_of, found.quakes))
    ids = [quake["id"] for quake in found.quakes]
    wrong_ones = next(len(day.reports) for day in days if day.name == wrong)
    items = [item for worker in found.done["workers"] for item in worker["items"]]
    succeeded = sum(item["status"] == "success" for item in items)
    return {
        "before the mistake was corrected": [
            Figure("days that were imported", len(days) - 1, _ended(found.stopped, 0, "success")),
            Figure("days that ended with an error", 1, _ended(found.stopped, 0, "error")),
            Figure("items of later workers waiting", statistics + 1, _waiting(found.stopped)),
            Figure("entities", len(reports) - wrong_ones, found.imported),
        ],
        "batch": [
            Figure("status", "done", found.done["status"]),
            Figure("items that succeeded", len(days) + statistics + 1, succeeded),
            Figure("days that were delivered", len(days), len(found.deliveries)),
        ],
        "entities": [
            Figure("reports", len(reports), len(ids)),
            *(Figure(f"  {day.name}", len(day.reports), by_day[day.name]) for day in days),
            Figure("reports that are there twice", 0, len(ids) - len(set(ids))),
        ],
        "report": [
            Figure("reports", len(reports), found.report["reports"]),
            *_groups("networks", "net", reports, found.report),
            *_groups("kinds", "type", reports, found.report),
        ],
    }


def _ended(manager: dict[str, Any], worker: int, status: str) -> int:
    return sum(item["status"] == status for item in manager["workers"][worker]["items"])


def _waiting(manager: dict[str, Any]) -> int:
    return sum(_ended(manager, later, "to-do") for later in range(1, len(manager["workers"])))


def _groups(
    name: str, member: str, reports: list[dict[str, Any]], report: dict[str, Any]
) -> list[Figure]:
    """Compare how many groups there are, and what is in the largest."""
    counts = Counter(one["properties"][member] for one in reports)
    ((largest, count),) = counts.most_common(1)
    magnitudes = [
        one["properties"]["mag"] for one in reports if one["properties"][member] == largest
    ]
    found = {row["name"]: row for row in report[name]}
    row = found.get(largest, {})
    return [
        Figure(name, len(counts), len(found)),
        Figure(f"  {largest}", count, row.get("reports")),
        Figure("    strongest", max(magnitudes), row.get("strongest")),
    ]


def as_tables(figures: dict[str, list[Figure]]) -> str:
    """Write the figures down."""
    lines = []
    for part, of_part in figures.items():
        lines.append(f"{part:<42}{'expected':>10}{'found':>10}")
        for figure in of_part:
            mark = "" if figure.is_right else "  differs"
            expected, found = str(figure.expected), str(figure.found)
            lines.append(f"  {figure.name:<40}{expected:>10}{found:>10}{mark}")
        lines.append("")
    return "\n".join(lines).rstrip()
