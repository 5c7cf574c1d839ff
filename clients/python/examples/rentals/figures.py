"""The figures that have to add up: what the runs say, next to what the other systems have."""

import sqlite3
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from mail_server import Mail
from processes import Postgres
from stock import Customer

from interlock import Run


@dataclass(frozen=True)
class Rental:
    """A customer's rental, and how its run has ended."""

    customer: Customer
    run: Run

    def has_done(self, step: str) -> bool:
        """Whether a step has succeeded, undone or not."""
        result = self.run.steps.get(step)
        return result is not None and result.outcome == "success"

    @property
    def is_completed(self) -> bool:
        """Whether everything was done."""
        return self.run.status == "completed"

    @property
    def reason(self) -> str:
        """Why it was undone, or that it was not."""
        if self.run.status != "failed":
            return self.run.status
        message = str((self.run.error or {}).get("message"))
        for sign, reason in (
            ("copy_left", "no copy left"),
            ("POST /charges answered 402", "card refused"),
            ("550", "no mailbox"),
        ):
            if sign in message:
                return reason
        return message


@dataclass(frozen=True)
class Figure:
    """Something counted twice, in two places."""

    name: str
    expected: int | Decimal
    found: int | Decimal


@dataclass(frozen=True)
class Books:
    """What the other systems have."""

    stock: Sequence[str]
    """Copies in stock, and films that have not all of theirs."""
    rows: Counter[str]
    """The rentals in the table by status."""
    charges: dict[int, Decimal]
    rentals_charged: list[int]
    refunds: list[tuple[int, Decimal]]
    refused: int
    repeats: int
    mails: Sequence[Mail]


async def read_books(postgres: Postgres, ledger: Path, mails: Sequence[Mail]) -> Books:
    """Read what the other systems have."""
    stock = (
        "SELECT sum(available), count(*) FILTER (WHERE available <> copies) FROM film_shop.films;"
    )
    statuses = "SELECT status, count(*) FROM film_shop.rentals GROUP BY status;"
    (of_stock,) = await postgres.execute(stock)
    rows = Counter({status: int(count) for status, count in await postgres.execute(statuses)})
    database = sqlite3.connect(ledger)
    charges = database.execute("SELECT id, amount, rental FROM charges").fetchall()
    refunds = database.execute("SELECT charge, amount FROM refunds").fetchall()
    refused = "SELECT count(*) FROM answers WHERE line = 'POST /charges' AND status = 402"
    books = Books(
        stock=of_stock,
        rows=rows,
        charges={charge: Decimal(amount) for charge, amount, _ in charges},
        rentals_charged=[rental for _, _, rental in charges],
        refunds=[(charge, Decimal(amount)) for charge, amount in refunds],
        refused=_one(database, refused),
        repeats=_one(database, "SELECT count(*) FROM repeats"),
        mails=mails,
    )
    database.close()
    return books


def compare(rentals: Sequence[Rental], copies: int, books: Books) -> dict[str, list[Figure]]:
    """Put side by side what the runs say and what is there."""
    completed = [rental for rental in rentals if rental.is_completed]
    booked = [rental for rental in rentals if rental.has_done("book")]
    undone = [rental for rental in booked if not rental.is_completed]
    charged = [rental for rental in rentals if rental.has_done("charge")]
    refunded = [rental for rental in charged if not rental.is_completed]
    refused = [
        rental
        for rental in rentals
        if rental.has_done("book")
        and "charge" in rental.run.steps
        and not rental.has_done("charge")
    ]
    sorry = [
        rental
        for rental in rentals
        if rental.run.status == "failed" and rental.customer.has_mailbox
    ]
    total = sum(books.charges.values(), Decimal())
    returned = sum((amount for _, amount in books.refunds), Decimal())
    mails = Counter(mail.subject for mail in books.mails)
    return {
        "stock": [
            Figure("copies in stock", copies, int(books.stock[0])),
            Figure("films without all of their copies", 0, int(books.stock[1])),
            Figure("rentals in the table", len(booked), books.rows.total()),
            Figure("  returned", len(completed), books.rows["returned"]),
            Figure("  undone", len(undone), books.rows["undone"]),
        ],
        "charges": [
            Figure("charges", len(charged), len(books.charges)),
            Figure("  amount", _sum(charged), total),
            Figure("rentals charged twice", 0, _repeated(books.rentals_charged)),
            Figure("refused cards", len(refused), books.refused),
        ],
        "refunds": [
            Figure("refunds", len(refunded), len(books.refunds)),
            Figure("  amount", _sum(refunded), returned),
            Figure("charges refunded twice", 0, _repeated([charge for charge, _ in books.refunds])),
            Figure("left with the shop", _sum(completed), total - returned),
        ],
        "mails": [
            Figure(
                "shipped", sum(rental.has_done("notify") for rental in rentals), mails["Shipped"]
            ),
            Figure("receipt", len(completed), mails["Receipt"]),
            Figure("sorry", len(sorry), mails["Sorry"]),
            Figure("mails sent twice", 0, _repeated([mail.message_id for mail in books.mails])),
        ],
    }


def _one(database: sqlite3.Connection, query: str) -> int:
    (count,) = database.execute(query).fetchone()
    return int(count)


def _sum(rentals: Sequence[Rental]) -> Decimal:
    """Add up what they cost."""
    return sum((rental.customer.film.price for rental in rentals), Decimal())


def _repeated(items: Sequence[Any]) -> int:
    return len(items) - len(set(items))
