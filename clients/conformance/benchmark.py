#!/usr/bin/env python3
"""Measures members of all languages: calls per second, one call at a time, memory.

One program drives and creates entities, each of which costs one call to the member that is
measured. Languages take turns, and every figure is the median of the rounds.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import uuid
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

from runner.documents import Number, decode
from runner.forms import shown
from runner.programs import CLIENTS, Language, Program, ProgramError
from runner.scenarios import FOLDER
from runner.servers import Server, ServerError

IN_FLIGHT = 256
HELD = 1000
"""How many calls are in flight when the memory is measured."""
_SERVER = {"CYODA_STORAGE_BACKEND": "sqlite", "CYODA_SQLITE_PATH": "$folder/interlock.db"}
_CREATE = {
    "type": "EntityCreateRequest",
    "payload": {
        "dataFormat": "JSON",
        "payload": {
            "model": {"name": "parcel", "version": Number("1")},
            "data": {"sku": "A-1", "quantity": Number("1"), "weight": Number("1.50")},
        },
    },
}


@dataclass
class Figures:
    """What was measured of one language."""

    rates: list[float] = field(default_factory=list)
    """Calls per second."""
    times: list[float] = field(default_factory=list)
    """Of single calls, in milliseconds."""
    megabytes: list[float] = field(default_factory=list)


class Bench:
    """A server, and a program that drives."""

    def __init__(self, driver: Language, arguments: argparse.Namespace) -> None:
        self._server = Server(_SERVER)
        self._driver = Program(driver, quiet=True)
        self._arguments = arguments

    async def start(self) -> None:
        """Start both."""
        await self._server.start()
        await self._driver.start()

    async def stop(self) -> None:
        """End both."""
        await self._driver.stop()
        await self._server.remove()

    async def measure(self, language: Language, figures: Figures) -> None:
        """Measure a member once."""
        tenant = uuid.uuid4().hex
        await self._define(tenant)
        member = Program(language, quiet=True)
        await member.start()
        try:
            for number in range(4):
                await ask(self._driver, self._connect(f"c{number}", tenant))
            await ask(member, self._join("m", tenant, [{"merge": {"price": Number("7")}}]))
            await self._calls("c0", self._arguments.calls // 10)
            begun = perf_counter()
            await self._calls("c0", self._arguments.calls)
            figures.rates.append(self._arguments.calls / (perf_counter() - begun))
            figures.times.extend(await self._one_at_a_time())
            await ask(member, {"do": "leave", "member": "m"})
            figures.megabytes.append(await self._held(member, tenant))
        finally:
            await member.stop()
            await self._driver.reset()

    async def overhead(self) -> float:
        """Return how long a command takes that does nothing, in milliseconds."""
        return statistics.median([await self._timed({"do": "hello"}) for _ in range(200)])

    async def _define(self, tenant: str) -> None:
        for step in decode((FOLDER / "shared.json").read_bytes())["models"]:
            await self._tell(tenant, step["service"])
        for step in decode((FOLDER / "shared.json").read_bytes())["priced"]:
            if "service" in step:
                await self._tell(tenant, step["service"])

    async def _tell(self, tenant: str, request: dict[str, Any]) -> None:
        answer = await self._server.ask(tenant, request["type"], request["payload"])
        if answer.get("success") is not True:
            raise ServerError(f"the service answers {shown(answer)}")

    def _connect(self, name: str, tenant: str) -> dict[str, Any]:
        access = self._server.access(tenant)
        return {"do": "connect", "as": name, "target": self._server.target, "access": access}

    def _join(self, name: str, tenant: str, script: list[dict[str, Any]]) -> dict[str, Any]:
        return {
            **self._connect(name, tenant),
            "do": "join",
            "tags": ["conformance"],
            "concurrency": Number(str(HELD)),
            "quiet": True,
            "handlers": [{"kind": "processor", "name": "price", "scripts": [script]}],
        }

    async def _calls(self, client: str, count: int) -> None:
        command = {"do": "calls", "on": client, "count": Number(str(count)), **_CREATE}
        answer = await ask(self._driver, command)
        if answer["answered"] != Number(str(count)):
            raise ProgramError(f"calls failed: {shown(answer)}")

    async def _one_at_a_time(self) -> list[float]:
        command = {"do": "call", "on": "c0", **_CREATE}
        return [await self._timed(command) for _ in range(self._arguments.singles)]

    async def _timed(self, command: dict[str, Any]) -> float:
        begun = perf_counter()
        await ask(self._driver, command)
        return (perf_counter() - begun) * 1000

    async def _held(self, member: Program, tenant: str) -> float:
        """Return the memory of a member with many calls in flight, in megabytes."""
        held: list[dict[str, Any]] = [{"wait": "all"}, {"keep": True}]
        await ask(member, {**self._join("n", tenant, held), "quiet": False})
        calling = [asyncio.create_task(self._calls(f"c{one}", HELD // 4)) for one in range(4)]
        for _ in range(HELD):
            await member.event(lambda event: event["event"] == "called")
        megabytes = member.megabytes()
        await ask(member, {"do": "open", "gate": "all"})
        await asyncio.gather(*calling)
        return megabytes


async def ask(program: Program, command: dict[str, Any]) -> dict[str, Any]:
    """Send a command and wait for its answer, however long that takes.

    Raises:
        ProgramError: it fails.

    """
    answer = await program.answer(await program.send(command), patience=600)
    if "ok" not in answer:
        raise ProgramError(shown(answer))
    ok: dict[str, Any] = answer["ok"]
    return ok


async def run(arguments: argparse.Namespace) -> None:
    """Measure, and print the table."""
    known = Language.all(arguments.clients, optimized=True)
    there = {one.name: one for one in known if not one.missing()}
    chosen = arguments.languages or list(there)
    if unknown := [name for name in (*chosen, arguments.driver) if name and name not in there]:
        sys.exit(f"{', '.join(unknown)}: not there, or its tools are not installed")
    driver = next(name for name in (arguments.driver, "rust", "go", *there) if name in there)
    for name in {driver, *chosen}:
        there[name].made()
    bench = Bench(there[driver], arguments)
    measured: dict[str, Figures] = defaultdict(Figures)
    try:
        await bench.start()
        for _ in range(arguments.rounds):
            for name in chosen:
                await bench.measure(there[name], measured[name])
        overhead = await bench.overhead()
    finally:
        await bench.stop()
    show(measured, driver, overhead)


def show(measured: dict[str, Figures], driver: str, overhead: float) -> None:
    """Print the table."""
    rates = {name: statistics.median(figures.rates) for name, figures in measured.items()}
    floor = rates.get("rust", max(rates.values()))
    of = "the Rust member" if "rust" in rates else "the fastest member"
    print(f"driven by {driver}; {IN_FLIGHT} calls in flight; ratios to {of}")
    print(f"times contain {overhead:.2f} ms for the pipe between runner and driver\n")
    print("| Member | Calls/s | Ratio | p50 of one | p99 of one | Memory, 1,000 in flight |")
    print("|---|---|---|---|---|---|")
    for name, figures in measured.items():
        cuts = statistics.quantiles(figures.times, n=100)
        print(
            f"| {name} | {rates[name]:,.0f} | {rates[name] / floor:.0%} | {cuts[49]:.2f} ms "
            f"| {cuts[98]:.2f} ms | {statistics.median(figures.megabytes):.0f} MB |"
        )


def main() -> None:
    """Run what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("languages", nargs="*", help="all that are installed, by default")
    parser.add_argument("--driver", help="the language that drives; rust or go, by default")
    parser.add_argument("--calls", type=int, default=20_000, help="in each round")
    parser.add_argument("--singles", type=int, default=500, help="single calls in each round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--clients", type=Path, default=CLIENTS, metavar="FOLDER", help="where they are"
    )
    try:
        asyncio.run(run(parser.parse_args()))
    except (ProgramError, ServerError, TimeoutError) as error:
        sys.exit(str(error) or "no answer")


if __name__ == "__main__":
    main()
