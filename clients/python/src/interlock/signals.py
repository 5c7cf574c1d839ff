"""SIGTERM and SIGINT, for any number of members and workers of a process."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_NUMBERS = (signal.SIGTERM, signal.SIGINT)

_stops: dict[asyncio.AbstractEventLoop, list[Callable[[], None]]] = {}


@contextmanager
def stopped_by_signals(stop: Callable[[], None]) -> Iterator[None]:
    """Call `stop` when the process receives SIGTERM or SIGINT, as long as this is entered.

    The first one does that; a second one ends the process at once. Only the main thread receives
    signals, and not every platform has them for event loops: elsewhere this does nothing.
    """
    loop = asyncio.get_running_loop()
    # A loop has one handler for each signal.
    stops = _stops.setdefault(loop, [])
    if not stops and not _can_receive(loop, stops):
        del _stops[loop]
        yield
        return
    stops.append(stop)
    try:
        yield
    finally:
        stops.remove(stop)
        if not stops:
            for number in _NUMBERS:
                loop.remove_signal_handler(number)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            del _stops[loop]


def _can_receive(loop: asyncio.AbstractEventLoop, stops: list[Callable[[], None]]) -> bool:
    try:
        for number in _NUMBERS:
            loop.add_signal_handler(number, _stop_all, loop, stops)
    except (NotImplementedError, RuntimeError, ValueError):
        return False
    return True


def _stop_all(loop: asyncio.AbstractEventLoop, stops: list[Callable[[], None]]) -> None:
    for number in _NUMBERS:
        loop.remove_signal_handler(number)
        signal.signal(number, signal.SIG_DFL)
    for stop in stops:
        stop()
