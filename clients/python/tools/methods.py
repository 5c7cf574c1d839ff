"""The operations, a method for each request, and the codes of errors."""

import json
import re
from typing import Any

from typed_dicts import documented


def operations_module(operations: list[dict[str, Any]], descriptions: dict[str, str]) -> str:
    """Make the module with one method for each operation."""
    types = {one["request"] for one in operations}
    types |= {response for one in operations for response in one["responses"]}
    return "\n".join(
        [
            '"""Every operation of the server, as a method with the types of its payloads."""',
            "",
            "from __future__ import annotations",
            "",
            "from collections.abc import AsyncGenerator",
            "from typing import TYPE_CHECKING",
            "",
            "from interlock.api.requester import Requester",
            "",
            "if TYPE_CHECKING:",
            f"    from interlock.api.payloads import ({', '.join(sorted(types))},)",
            "",
            "",
            "class Api:",
            '    """The operations of a server, with payloads as they are on the wire."""',
            "",
            '    __slots__ = ("_requester",)',
            "",
            "    def __init__(self, requester: Requester) -> None:",
            '        """Send requests through `requester`."""',
            "        self._requester = requester",
            "",
            *(_method(one, descriptions[one["request"]]) for one in operations),
        ]
    )


def _method(one: dict[str, Any], description: str) -> str:
    name = method_name(one["request"])
    answer = " | ".join(one["responses"])
    how = "listen" if one["endless"] else "stream" if one["streaming"] else "call"
    signature = f"    async def {name}(self, request: {one['request']}"
    call = f'self._requester.{how}("{one["request"]}", request'
    if how != "call":
        signature, answer = signature.replace("async ", ""), f"AsyncGenerator[{answer}, None]"
    elif one["idempotencyKey"]:
        signature += ", *, idempotency_key: str | None = None"
        call += ", idempotency_key=idempotency_key"
    awaited = "await " if how == "call" else ""
    lines = [
        f"{signature}) -> {answer}:",
        documented(_summary(one, description), "        ").rstrip("\n"),
        f"        answer: {answer} = {awaited}{call})",
        "        return answer",
        "",
    ]
    return "\n".join(lines)


def _summary(one: dict[str, Any], description: str) -> str:
    """Say what is sent, how else it can be, and who may."""
    rest = ", ".join(f"`{path}`" for path in one["rest"])
    notes = [
        description,
        f"Over REST: {rest}." if rest else "",
        f"Needs the role `{one['role']}`." if one["role"] else "",
        "The answer has no end, and is not resumed." if one["endless"] else "",
    ]
    described = "\n".join(note for note in notes if note)
    return f"Send `{one['request']}`." + (f"\n\n{described}" if described else "")


def method_name(request: str) -> str:
    """Return `entity_create` for `EntityCreateRequest`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", request.removesuffix("Request")).lower()


def codes_module(errors: list[dict[str, Any]]) -> str:
    """Make the module with the codes of errors."""
    rows = [
        f"    {json.dumps(one['code'])}: Code({one['status']}, {one['retryable']}, "
        f"{json.dumps(one['meaning'], ensure_ascii=False)}),"
        for one in sorted(errors, key=lambda one: str(one["code"]))
    ]
    return "\n".join(
        [
            '"""The codes of errors."""',
            "",
            "from typing import NamedTuple",
            "",
            "",
            "class Code(NamedTuple):",
            '    """What is known of a code."""',
            "",
            "    status: int",
            '    """The status over HTTP."""',
            "    retryable: bool",
            '    """Whether the same request may succeed later."""',
            "    meaning: str",
            '    """What it means, and what to do."""',
            "",
            "",
            "CODES: dict[str, Code] = {",
            *rows,
            "}",
            '"""The codes that a server answers with."""',
            "",
        ]
    )
