"""JSON that keeps its numbers.

An entity's document is any JSON object. Integers are `int`, all other numbers are `Decimal`, so
that neither reading nor writing rounds: `1.50` is read as `Decimal("1.50")` and written as `1.50`.
"""

import json
import math
from collections.abc import Callable, Mapping
from decimal import Decimal
from json.encoder import encode_basestring
from typing import Any


def decode(text: str | bytes) -> Any:
    """Read JSON.

    Raises:
        ValueError: the text is not JSON; `NaN` and `Infinity` are not.

    """
    return json.loads(text, parse_float=Decimal, parse_constant=_refuse)


def encode(value: Any) -> str:
    """Write JSON, every `Decimal` with exactly the digits it has.

    A `float` is written as `repr` does, which reads back as the same float.

    Raises:
        TypeError: something in it has no JSON form.
        ValueError: a number in it is infinite or not a number.

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
        put(int.__repr__(value))
    elif isinstance(value, Decimal):
        put(_finite(value, value.is_finite()))
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
    else:
        raise TypeError(f"{type(value).__name__} has no JSON form: {value!r}")


def _finite(number: Decimal | float, is_finite: bool) -> str:
    if not is_finite:
        raise ValueError(f"{number} is not a JSON number")
    return str(number)


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")
