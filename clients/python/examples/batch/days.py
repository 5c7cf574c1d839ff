"""The data: reports of earthquakes, one file for each day, one of which has a mistake."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from interlock import documents

HERE = Path(__file__).parent
REPORTS = HERE.parent / "earthquakes/data/earthquakes.json"

PATH = "/days/{}.json"
"""Where the service has the file of a day."""

MISTAKE = "about three"
"""A magnitude that is not a number."""


@dataclass(frozen=True)
class Day:
    """The reports of a day, in UTC."""

    name: str
    reports: list[dict[str, Any]]

    @property
    def path(self) -> str:
        """The path of its file."""
        return PATH.format(self.name)

    def place(self, folder: Path) -> Path:
        """Return where its file is in the folder with all files."""
        return folder / self.path.removeprefix("/")

    def write(self, folder: Path) -> None:
        """Write its file, at once as a whole, so that nobody reads half of it."""
        self._write(folder, self.reports)

    def write_with_a_mistake(self, folder: Path) -> None:
        """Write its file with one magnitude that is not a number."""
        right, middle = self.reports, len(self.reports) // 2
        properties = {**right[middle]["properties"], "mag": MISTAKE}
        wrong = {**right[middle], "properties": properties}
        self._write(folder, [*right[:middle], wrong, *right[middle + 1 :]])

    def _write(self, folder: Path, reports: list[dict[str, Any]]) -> None:
        place = self.place(folder)
        place.parent.mkdir(parents=True, exist_ok=True)
        beside = folder.parent / place.name
        beside.write_text(documents.encode({"day": self.name, "reports": reports}) + "\n")
        os.replace(beside, place)


def read_days() -> list[Day]:
    """Read the reports, and divide them by the day of the earthquake."""
    by_day: dict[str, list[dict[str, Any]]] = {}
    for report in documents.decode(REPORTS.read_text())["features"]:
        by_day.setdefault(day_of(report), []).append(report)
    return [Day(name, reports) for name, reports in sorted(by_day.items())]


def day_of(report: dict[str, Any]) -> str:
    """Return the day of a report."""
    seconds = report["properties"]["time"] / 1000
    return datetime.fromtimestamp(seconds, UTC).date().isoformat()


def all_reports(days: list[Day]) -> Iterator[dict[str, Any]]:
    """Yield the reports of all days."""
    for day in days:
        yield from day.reports
