"""What the answer of a handler may contain, whatever the handler said.

A text that cannot be encoded would leave the caller without an answer, and one that is too large
would end the stream, and with it everything else on it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

FAILURE_BYTES_MAX = 64 << 10
"""How many bytes of the text of a failure are sent."""

WARNINGS_MAX = 1_000
"""How many warnings are sent; the last one says how many more there were."""

WARNING_BYTES_MAX = 4 << 10
"""How many bytes of a warning are sent."""

_CUT = "…"


def bounded(text: object, most: int) -> str:
    """Return a text that can be encoded, cut to so many bytes; what is cut ends with `…`."""
    try:
        whole = str(text)
    except Exception:
        whole = f"a {type(text).__name__} that has no text"
    # No character has less than a byte, so nothing beyond these is needed.
    encoded = _encodable(whole[: most + 1]).encode()
    if len(encoded) <= most:
        return encoded.decode()
    return encoded[: most - len(_CUT.encode())].decode(errors="ignore") + _CUT


def bounded_warnings(warnings: Iterable[object]) -> list[str]:
    """Return the warnings of a call as they are sent."""
    texts = list(warnings)
    if len(texts) > WARNINGS_MAX:
        left_out = len(texts) - (WARNINGS_MAX - 1)
        texts[WARNINGS_MAX - 1 :] = [f"{left_out} more warnings are left out"]
    return [bounded(text, WARNING_BYTES_MAX) for text in texts]


def is_given_up(error: BaseException) -> bool:
    """Whether what runs is to end, instead of having failed.

    A handler may raise CancelledError by itself, because something that it waits for was
    cancelled; that is a failure like any other.
    """
    if not isinstance(error, asyncio.CancelledError):
        return isinstance(error, GeneratorExit | KeyboardInterrupt | SystemExit)
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


def _encodable(text: str) -> str:
    """Replace lone surrogates, which UTF-8 does not have."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
