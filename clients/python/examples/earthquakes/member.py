"""The compute member of the example: the processors that the workflow of reports names.

Run it with `python member.py`; it serves until it is stopped with Ctrl-C or SIGTERM.
"""

import argparse
import asyncio
import logging
from decimal import Decimal
from typing import Any

from interlock import Context, Entity, Member

ALERT = ("earthquake-alert", 1)

TAG = "earthquakes"
"""What the workflow asks of members, as `calculationNodesTags`."""


def make_member(server: str, connect_timeout: float = 5) -> Member:
    """Make the member; it has not joined yet."""
    member = Member(server, tags=[TAG], connect_timeout=connect_timeout)
    member.processor("assess")(assess)
    member.processor("raise-alert")(raise_alert)
    member.processor("sign-off")(sign_off)
    return member


async def assess(entity: Entity, _context: Context) -> dict[str, Any]:
    """Add what the report does not say itself: how deep, and how much energy."""
    report = entity.data
    depth = report["geometry"]["coordinates"][2]
    return report | {
        "assessment": {
            "depthKm": depth,
            "depthClass": depth_class(depth),
            "energyJoules": energy(report["properties"]["mag"]),
        }
    }


async def raise_alert(entity: Entity, context: Context) -> dict[str, Any]:
    """Make an alert, which is there only if the report gets to `ALERTED`."""
    report = entity.data
    properties = report["properties"]
    alert = await context.client.create(
        ALERT,
        {
            "reportId": report["id"],
            "place": properties["place"],
            "magnitude": properties["mag"],
            "reasons": reasons(properties),
            "report": entity.id,
        },
    )
    return report | {"alertId": alert.entity_id}


async def sign_off(entity: Entity, context: Context) -> dict[str, Any]:
    """Mark a report as reviewed by the user who confirmed it.

    The report then goes through the criteria of `ASSESSED` once more, as a reviewed one.
    """
    report = entity.data
    properties = report["properties"]
    return report | {
        "properties": properties | {"status": "reviewed"},
        "review": {"by": context.caller.id, "statusBefore": properties["status"]},
    }


def depth_class(depth_km: Decimal | int) -> str:
    """Name a depth as seismologists do."""
    if depth_km < 70:
        return "shallow"
    return "intermediate" if depth_km < 300 else "deep"


def energy(magnitude: Decimal | int) -> int:
    """Estimate the energy that was radiated, in joules (Gutenberg and Richter, 1956)."""
    return round(10 ** (Decimal("1.5") * magnitude + Decimal("4.8")))


def reasons(properties: dict[str, Any]) -> list[str]:
    """Say why a report is worth an alert, as the criteria of `raise_alert` do."""
    given = []
    if properties["tsunami"] == 1:
        given.append("tsunami warning")
    if properties["alert"] is not None:
        given.append(f"alert level {properties['alert']}")
    if properties["mag"] >= 5:
        given.append(f"magnitude {properties['mag']}")
    return given


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server", default="localhost:9090", help="its gRPC port, as host:port")
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    asyncio.run(make_member(parser.parse_args().server).run())
