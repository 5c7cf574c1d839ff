"""JSON that keeps its numbers.

An entity's document is any JSON object. A `datetime` with a time zone and a `date` are written as
ISO 8601 text, and read as text. Integers are `int`, all other numbers are `Decimal`, so
that neither reading nor writing rounds: `1.50` is read as `Decimal("1.50")` and written as `1.50`.
What Python spells otherwise, such as `1e5` and `-0`, remembers how it was spelled; so does what
no `Decimal` can hold, such as `1e1000000000000000000000`.
"""

import json
import math
import re
from collections.abc import Callable, Mapping
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from json.encoder import encode_basestring
from typing import Any, Self

# More digits than this Python does not turn into an `int`, unless it is asked to.
_INT_DIGITS_MAX = 4300

# May contain the integer `-0`; dates, for instance, do as well, but without what follows.
_NEGATIVE_ZERO = re.compile(r"-0\s*(?:[,\]}]|$)")


# Of a number whose exponent no Decimal has: its sign, its digits, and the sign of the exponent.
_FAR = re.compile(r"(-?)([0-9.]+)[eE]([+-]?)")


class _Spelled(Decimal):
    """A number whose text is not what `str` makes of its value.

    With an exponent that no Decimal has, its value is infinite or zero, whichever is nearer, and
    only its text says what it is.
    """

    _text: str

    def __new__(cls, text: str) -> Self:
        try:
            made = super().__new__(cls, text)
        except InvalidOperation:
            made = super().__new__(cls, _nearest(text))
        made._text = text
        return made

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"Decimal('{self._text}')"


def _nearest(text: str) -> str:
    """Return the value of a number whose exponent no Decimal has."""
    parts = _FAR.match(text)
    if parts is None:
        raise ValueError(f"{text} is not a JSON number")
    sign, digits, exponent = parts.groups()
    is_zero = exponent == "-" or not digits.strip("0.")
    return f"{sign}0" if is_zero else f"{sign}Infinity"


class _NegativeZero(int):
    """The integer `-0`."""

    def __repr__(self) -> str:
        return "-0"


def decode(text: str | bytes) -> Any:
    """Read JSON.

    Raises:
        ValueError: the text is not JSON; `NaN` and `Infinity` are not.

    """
    if isinstance(text, bytes):
        text = text.decode()
    # Nothing but `int` itself is fast, and what needs more is rare.
    parse_int: Callable[[str], Any] = _integer if _NEGATIVE_ZERO.search(text) else int
    try:
        return json.loads(text, parse_float=_decimal, parse_int=parse_int, parse_constant=_refuse)
    except json.JSONDecodeError:
        raise
    except ValueError:
        # An integer with too many digits, or a constant that is refused again.
        return json.loads(text, parse_float=_decimal, parse_int=_integer, parse_constant=_refuse)


def _integer(text: str) -> int | Decimal:
    if text == "-0":
        return _NegativeZero()
    return int(text) if len(text) <= _INT_DIGITS_MAX else Decimal(text)


def _decimal(text: str) -> Decimal:
    try:
        number = Decimal(text)
    except InvalidOperation:
        return _Spelled(text)
    return number if str(number) == text else _Spelled(text)


def encode(value: Any) -> str:
    """Write JSON, every `Decimal` with exactly the digits it has.

    A `float` is written as `repr` does, which reads back as the same float.

    Raises:
        TypeError: something in it has no JSON form.
        ValueError: a number in it is infinite or not a number, or a time has no time zone.

    """
    chunks: list[str] = []
    _write(value, chunks.append)
    return "".join(chunks)


def _write(value: Any, put: Callable[[str], None]) -> None:
    # The order is that of the C encoder, which cannot write a Decimal: `bool` is an `int`.
    if value is None:
        put("null")
    elif value is True:
        put("true")
    elif value is False:
        put("false")
    elif isinstance(value, str):
        put(encode_basestring(value))
    elif isinstance(value, int):
        put("-0" if isinstance(value, _NegativeZero) else int.__repr__(value))
    elif isinstance(value, Decimal):
        put(_finite(value, value.is_finite() or isinstance(value, _Spelled)))
    elif isinstance(value, float):
        put(_finite(value, math.isfinite(value)))
    elif isinstance(value, Mapping):
        separator = "{"
        for name, member in value.items():
            if not isinstance(name, str):
                raise TypeError(f"{name!r} cannot name a member of a JSON object; a str can")
            put(separator + encode_basestring(name) + ":")
            _write(member, put)
            separator = ","
        put("{}" if separator == "{" else "}")
    elif isinstance(value, list | tuple):
        separator = "["
        for item in value:
            put(separator)
            _write(item, put)
            separator = ","
        put("[]" if separator == "[" else "]")
    elif isinstance(value, datetime):
        if value.tzinfo is None:
            raise ValueError(f"{value} has no time zone; add one")
        text = value.isoformat()
        put(encode_basestring(f"{text[:-6]}Z" if text.endswith("+00:00") else text))
    elif isinstance(value, date):
        put(encode_basestring(value.isoformat()))
    else:
        raise TypeError(f"{type(value).__name__} has no JSON form: {value!r}")


def _finite(number: Decimal | float, is_finite: bool) -> str:
    if not is_finite:
        raise ValueError(f"{number} is not a JSON number")
    return str(number)


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")
