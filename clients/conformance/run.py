#!/usr/bin/env python3
"""Runs the conformance scenarios against the clients of all languages; see README.md."""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path
from time import monotonic

from runner import together
from runner.programs import CLIENTS, Language, Program, ProgramError
from runner.scenarios import FOLDER, Run, Scenario
from runner.servers import Server, ServerError

OK = "ok"
DIFFERS = "DIFFERS"

Row = dict[str, str | None]
"""How each scenario deviates, by its name."""


def chosen(arguments: argparse.Namespace) -> tuple[list[Language], list[Scenario]]:
    """Return what is to be run; exits if there is no such thing."""
    there = {language.name: language for language in Language.all(arguments.clients)}
    unknown = set(arguments.languages) - set(there)
    if unknown:
        sys.exit(f"{', '.join(sorted(unknown))}: no such language; there are {', '.join(there)}")
    languages = []
    for name, language in there.items():
        if arguments.languages and name not in arguments.languages:
            continue
        if missing := language.missing():
            print(f"{name} is left out: {', '.join(missing)} is not installed")
            continue
        languages.append(language)
    only = arguments.only or ""
    scenarios = [one for one in Scenario.all(arguments.scenarios) if only in one.name]
    if not languages or not scenarios:
        sys.exit("there is nothing to run")
    return languages, scenarios


async def run_language(
    language: Language, scenarios: list[Scenario], common: Server, *, quiet: bool
) -> Row:
    """Run the scenarios against the program of a language."""
    row: Row = {}
    program: Program | None = None
    for scenario in scenarios:
        if program is None:
            program = Program(language, quiet=quiet)
            await program.start()
        begun = monotonic()
        server = common
        if scenario.server is not None:
            server = Server(scenario.server)
            await server.start()
        try:
            row[scenario.name] = await Run(scenario, program, server).passes()
            if row[scenario.name] is None and scenario.ends:
                await program.stop()
                program = None
            elif row[scenario.name] is None:
                try:
                    await program.reset()
                except (ProgramError, TimeoutError) as error:
                    row[scenario.name] = f"reset: {error or 'no answer'}"
        finally:
            if server is not common:
                await server.remove()
        if row[scenario.name] is not None and program is not None:
            # What it left behind must not disturb the next scenario.
            await program.stop(kill=True)
            program = None
        if not quiet:
            how = OK if row[scenario.name] is None else DIFFERS
            print(f"{language.name} {scenario.name}: {how}, {monotonic() - begun:.1f} s")
    if program is not None:
        await program.stop()
    return row


async def run(
    languages: list[Language], scenarios: list[Scenario], *, quiet: bool, with_all: bool
) -> dict[str, Row]:
    """Run everything, one after the other."""
    common = Server({})
    await common.start()
    try:
        rows = {
            language.name: await run_language(language, scenarios, common, quiet=quiet)
            for language in languages
        }
        if with_all:
            for name, why in (await together.run(languages, common, quiet=quiet)).items():
                rows[name][together.NAME] = why
        return rows
    finally:
        await common.remove()


def show(rows: dict[str, Row], scenarios: list[Scenario]) -> None:
    """Print the table, and what differs."""
    abouts = {scenario.name: scenario.about for scenario in scenarios}
    abouts |= {together.NAME: together.ABOUT} if together.NAME in next(iter(rows.values())) else {}
    width = max(len(scenario) for scenario in abouts)
    columns = {name: max(len(name), len(DIFFERS)) for name in rows}
    print(
        f"\n{'scenario':{width}}", *(f"{name:{size}}" for name, size in columns.items()), sep="  "
    )
    for scenario in abouts:
        cells = (
            f"{OK if rows[name][scenario] is None else DIFFERS:{size}}"
            for name, size in columns.items()
        )
        print(f"{scenario:{width}}", *cells, sep="  ")
    for name, row in rows.items():
        for scenario, about in abouts.items():
            if (why := row[scenario]) is not None:
                indented = why.replace("\n", "\n    ")
                print(f"\n{name} differs in {scenario} ({about}):\n    {indented}")


def main() -> int:
    """Run what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("languages", nargs="*", help="all that are installed, by default")
    parser.add_argument("--only", metavar="TEXT", help="the scenarios with this in their names")
    parser.add_argument(
        "--clients", type=Path, default=CLIENTS, metavar="FOLDER", help="where they are"
    )
    parser.add_argument(
        "--scenarios", type=Path, default=FOLDER, metavar="FOLDER", help="where they are"
    )
    parser.add_argument(
        "--verbose", action="store_true", help="show progress, and what the programs log"
    )
    arguments = parser.parse_args()
    languages, scenarios = chosen(arguments)
    try:
        for language in languages:
            language.made()
        quiet, with_all = not arguments.verbose, not arguments.only
        rows = asyncio.run(run(languages, scenarios, quiet=quiet, with_all=with_all))
    except (ProgramError, ServerError) as error:
        print(error, file=sys.stderr)
        return 2
    show(rows, scenarios)
    return 1 if any(why for row in rows.values() for why in row.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
