"""Rent films by sagas: reserve, charge, ship after a wait, return, and undo what does not work out.

It starts everything it needs: the service, PostgreSQL with the stock, a payment server that
refuses one card in ten and dies twice, and a mail server. At the end it compares what the runs
say with what is in the other systems, figure by figure.
"""

import argparse
import asyncio
import contextlib
import shutil
import sys
import tempfile
import time
from collections import Counter
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, field
from pathlib import Path

from figures import Figure, Rental, compare, read_books
from mail_server import MailServer, mail_server
from processes import (
    NotStarted,
    PaymentServer,
    Postgres,
    interlock,
    payment_server,
    postgres_at,
    private_postgres,
)
from stock import Customer, make_customers, read_films, script

from interlock import Client, InterlockError, Operations, RunFinished, SignalNotAwaited

HERE = Path(__file__).parent

SAGA = "rent_film"

AT_ONCE = 64
"""How many requests are in flight."""

FILMS = """{path} is not there. The films are in the npm package vega-datasets:
  npm pack --silent vega-datasets@3.2.1
  tar -xzOf vega-datasets-3.2.1.tgz package/data/movies.json > movies.json"""


@dataclass
class Shop:
    """The customers, and how far their rentals are."""

    client: Operations
    customers: list[Customer]
    by_run: dict[str, Customer] = field(default_factory=dict)
    ended: set[str] = field(default_factory=set)
    not_undone: int = 0
    """How many compensations have failed."""
    in_flight: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))

    async def serve(self) -> None:
        """Start all rentals, and wait for their ends."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.follow(group))
            for customer in self.customers:
                group.create_task(self.rent(customer))

    async def rent(self, customer: Customer) -> None:
        """Start a rental, which some cancel while it is being prepared."""
        async with self.in_flight:
            started = await self.client.runs.start(SAGA, customer.order)
        self.by_run[started.run_id] = customer
        if customer.cancels == "at once":
            await self.cancel(started.run_id)

    async def cancel(self, run_id: str) -> None:
        """Cancel a rental; the answer comes when it has been undone."""
        # Some have failed before.
        with contextlib.suppress(RunFinished):
            await self.client.runs.cancel(run_id, "changed my mind")

    async def follow(self, group: asyncio.TaskGroup) -> None:
        """Follow all runs until everyone has ended, and do what customers do meanwhile."""
        async with aclosing(self.client.runs.follow(definition=SAGA, from_sequence=0)) as history:
            async for event in history:
                match event.event_type:
                    case "delay_started" if self.cancels_before_shipping(event.run_id):
                        group.create_task(self.cancel(event.run_id))
                    case "waiting_for_signal":
                        group.create_task(self.bring_back(event.run_id))
                    case "compensation_failed":
                        self.not_undone += 1
                if event.is_last:
                    self.ended.add(event.run_id)
                    if len(self.ended) % 500 == 0:
                        print(f"{len(self.ended)} of {len(self.customers)} rentals have ended")
                    if len(self.ended) == len(self.customers):
                        return

    def cancels_before_shipping(self, run_id: str) -> bool:
        """Whether the customer of a run, if the start was answered, cancels now."""
        customer = self.by_run.get(run_id)
        return customer is not None and customer.cancels == "before shipping"

    async def bring_back(self, run_id: str) -> None:
        """Return a film."""
        async with self.in_flight:
            # Some were cancelled meanwhile.
            with contextlib.suppress(RunFinished, SignalNotAwaited):
                await self.client.runs.signal(run_id, "returned", {"condition": "good"})

    async def rentals(self) -> list[Rental]:
        """Read how all runs have ended, from the service."""

        async def read(run_id: str) -> Rental:
            async with self.in_flight:
                return Rental(self.by_run[run_id], await self.client.runs.get(run_id))

        listed = [run.run_id async for run in self.client.runs.list(SAGA)]
        return await asyncio.gather(*map(read, listed))


def bundle() -> dict[str, str]:
    """Read the files of the bundle."""
    folder = HERE / "shop"
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_text() for path in files}


def variables(postgres: Postgres, payments: PaymentServer, mail: MailServer) -> dict[str, str]:
    """Make the values of `env()` in the files of the bundle."""
    return {
        "POSTGRES_HOST": postgres.host,
        "POSTGRES_PORT": str(postgres.port),
        "POSTGRES_DATABASE": postgres.database,
        "POSTGRES_USER": postgres.user,
        "POSTGRES_PASSWORD": postgres.password,
        "PAYMENTS_URL": payments.url,
        "PAYMENTS_TOKEN": payments.token,
        "MAIL_PORT": str(mail.port),
    }


async def play(arguments: argparse.Namespace) -> bool:
    """Start what is needed, serve all customers, and compare; whether everything adds up."""
    films = read_films(arguments.films)
    customers = make_customers(films, arguments.rentals)
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        if arguments.postgres:
            postgres = postgres_at(arguments.postgres)
        else:
            postgres = await stack.enter_async_context(private_postgres())
        await postgres.execute(script(films))
        copies = sum(film.copies for film in films)
        print(f"{len(films)} films are in stock, {copies} copies")
        deaths = [len(customers) // 4, len(customers) // 2]
        paying = payment_server(folder / "ledger.db", deaths)
        payments = await stack.enter_async_context(paying)
        mail = await stack.enter_async_context(mail_server())
        target = await stack.enter_async_context(interlock(arguments.program, folder))
        client = await stack.enter_async_context(Client(target))
        known = variables(postgres, payments, mail)
        await client.runs.bundles.apply(bundle(), bundle="film-shop", variables=known)
        shop, begun = Shop(client, customers), time.monotonic()
        await shop.serve()
        print(f"{len(customers)} rentals took {time.monotonic() - begun:.1f} s")
        rentals = await shop.rentals()
        books = await read_books(postgres, payments.ledger, mail.mails)
        figures = {
            "runs": [
                Figure("rentals", len(customers), len(rentals)),
                Figure("  ended", len(customers), sum(one.run.is_finished for one in rentals)),
                Figure("steps that could not be undone", 0, shop.not_undone),
            ],
            **compare(rentals, copies, books),
            "payment server": [Figure("deaths", len(deaths), payments.died)],
        }
        show_ends(rentals)
        adds_up = show(figures)
        print(f"\n{books.repeats} payments or refunds were asked for again, and answered as before")
        return adds_up


def show_ends(rentals: list[Rental]) -> None:
    """Print how the rentals have ended."""
    print(f"\n{'ended':<40}{'rentals':>12}")
    for reason, count in Counter(rental.reason for rental in rentals).most_common():
        print(f"  {reason:<38}{count:>12}")


def show(figures: dict[str, list[Figure]]) -> bool:
    """Print the figures; whether they add up."""
    adds_up = True
    for part, of_part in figures.items():
        print(f"\n{part:<40}{'expected':>12}{'found':>12}")
        for figure in of_part:
            is_equal = figure.expected == figure.found
            adds_up = adds_up and is_equal
            mark = "" if is_equal else "  differs"
            print(f"  {figure.name:<38}{figure.expected:>12}{figure.found:>12}{mark}")
    return adds_up


def main() -> None:
    """Say in plain words what is missing, if something is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--films", type=Path, default=Path("movies.json"), help="the films")
    parser.add_argument(
        "--rentals", type=int, default=2000, help="how many rentals; 2000 if not said"
    )
    parser.add_argument(
        "--postgres",
        metavar="URL",
        help="a PostgreSQL server to use, whose schema film_shop is made again; by default one is "
        "started",
    )
    parser.add_argument(
        "--program", default="target/release/interlock", help="the server, which is started"
    )
    arguments = parser.parse_args()
    program = shutil.which(arguments.program)
    if program is None:
        sys.exit(f"{arguments.program} is not a program; build it with `cargo build --release`")
    if not arguments.films.is_file():
        sys.exit(FILMS.format(path=arguments.films))
    arguments.program = str(Path(program).resolve())
    wrong = ""
    try:
        if not asyncio.run(play(arguments)):
            wrong = "The figures do not add up."
    except* (InterlockError, NotStarted) as errors:
        wrong = first_of(errors)
    if wrong:
        sys.exit(f"\n{wrong}")
    print("Everything adds up.")


def first_of(error: BaseException) -> str:
    """Return the message of the first error of a group, which may be of groups."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error)


if __name__ == "__main__":
    main()
