"""JSON whose numbers are the digits they were written with."""

import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Number:
    """A number as it is written: `1.50` is another one than `1.5`."""

    digits: str

    def __repr__(self) -> str:
        return self.digits


def decode(text: str | bytes) -> Any:
    """Read JSON.

    Raises:
        ValueError: the text is not JSON.

    """
    return json.loads(text, parse_int=Number, parse_float=Number)


def encode(value: Any) -> str:
    """Write JSON in one line."""
    if isinstance(value, Number):
        return value.digits
    if isinstance(value, dict):
        members = (f"{json.dumps(name)}:{encode(member)}" for name, member in value.items())
        return "{" + ",".join(members) + "}"
    if isinstance(value, list):
        return "[" + ",".join(encode(item) for item in value) + "]"
    return json.dumps(value, ensure_ascii=False)
