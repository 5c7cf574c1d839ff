"""The version of this client, and the servers that it understands."""

from __future__ import annotations

import re

VERSION = "0.1.0"
"""In step with the server's."""


def understood(version: str) -> str:
    """Return the part of a version in which a client and its server must agree.

    That is the major version, and while it is 0 the minor one, too.
    """
    numbers = re.match(r"(\d+)(?:\.(\d+))?", version)
    if numbers is None:
        return version
    return f"0.{numbers[2] or 0}" if int(numbers[1]) == 0 else str(int(numbers[1]))


def is_understood(server: str, client: str = VERSION) -> bool:
    """Whether a client understands a server of that version."""
    return understood(server) == understood(client)
