"""The films of the shop, and its customers: made from a seed, so that every run has the same."""

import random
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

from mail_server import NOWHERE

from interlock import documents

SEED = 21

TABLES = """
DROP SCHEMA IF EXISTS film_shop CASCADE;
CREATE SCHEMA film_shop;
CREATE TABLE film_shop.films (
  id int PRIMARY KEY, title text, released text, genre text, price numeric(6,2) NOT NULL,
  copies int NOT NULL, available int NOT NULL,
  CONSTRAINT copy_left CHECK (available >= 0),
  CONSTRAINT no_copy_too_many CHECK (available <= copies)
);
CREATE TABLE film_shop.rentals (
  id bigserial PRIMARY KEY, film int NOT NULL REFERENCES film_shop.films, customer int NOT NULL,
  status text NOT NULL
);
COPY film_shop.films FROM STDIN;
"""


@dataclass(frozen=True)
class Film:
    """A film in stock."""

    id: int
    title: str | None
    released: str | None
    genre: str | None
    price: Decimal
    copies: int
    votes: int
    """How much it is asked for."""


@dataclass(frozen=True)
class Customer:
    """A customer, who rents one film."""

    number: int
    film: Film

    @property
    def card(self) -> str:
        """The card, which the payment server refuses if it ends with 0."""
        return f"4000-0000-{self.number:08}"

    @property
    def has_mailbox(self) -> bool:
        """Whether mails arrive."""
        return self.number % 40 != 7

    @property
    def cancels(self) -> Literal["at once", "before shipping"] | None:
        """When the rental is cancelled, if it is."""
        match self.number % 40:
            case 13:
                return "at once"
            case 27:
                return "before shipping"
        return None

    @property
    def order(self) -> dict[str, Any]:
        """What the saga is started with."""
        domain = "customers.example" if self.has_mailbox else NOWHERE
        return {
            "customer": self.number,
            "film": self.film.id,
            "copies": 1,
            "card": self.card,
            "email": f"customer-{self.number}@{domain}",
        }


def read_films(path: Path) -> list[Film]:
    """Read the films of a file; those that are asked for most have the most copies."""
    films = []
    for number, record in enumerate(documents.decode(path.read_text()), 1):
        votes = int(record.get("IMDB Votes") or 0)
        rating = record.get("IMDB Rating") or 0
        films.append(
            Film(
                id=number,
                title=_text(record.get("Title")),
                released=_text(record.get("Release Date")),
                genre=_text(record.get("Major Genre")),
                price=Decimal("4.90" if rating >= 8 else "3.90" if rating >= 6 else "2.95"),
                copies=1 + votes // 15_000,
                votes=votes,
            )
        )
    return films


def make_customers(films: list[Film], number: int) -> list[Customer]:
    """Make customers, who ask for films as those vote who have seen them."""
    choose = random.Random(SEED)
    chosen = choose.choices(films, weights=[film.votes + 1 for film in films], k=number)
    return [Customer(number, film) for number, film in enumerate(chosen, 1)]


def script(films: list[Film]) -> str:
    """Write the statements that make the tables, with all copies in stock."""
    rows = []
    for film in films:
        texts = [film.title, film.released, film.genre]
        numbers = [film.price, film.copies, film.copies]
        rows.append("\t".join([str(film.id), *map(_copied, texts), *map(str, numbers)]))
    return TABLES + "\n".join(rows) + "\n\\.\n"


def _text(value: Any) -> str | None:
    """Return a text: some titles are numbers."""
    return None if value is None else str(value)


def _copied(text: str | None) -> str:
    """Write a text as COPY reads it."""
    if text is None:
        return "\\N"
    escapes = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})
    return text.translate(escapes)
