"""Members of all languages serve one workflow at once, each transition by another."""

from __future__ import annotations

import uuid
from typing import Any

from .documents import Number
from .forms import difference, shown
from .programs import Language, Program, ProgramError
from .servers import Server

NAME = "together"
ABOUT = "members of all languages serve one workflow, each transition by another"

_MODEL = {"name": "letter", "version": Number("1")}


async def run(languages: list[Language], server: Server, *, quiet: bool) -> dict[str, str | None]:
    """Start all programs, and have each create an entity that all members sign in turn.

    Returns how the entity of each language deviates from that.
    """
    tenant = uuid.uuid4().hex
    names = [language.name for language in languages]
    await _define(names, tenant, server)
    programs = {language.name: Program(language, quiet=quiet) for language in languages}
    row: dict[str, str | None] = dict.fromkeys(names)
    try:
        for name, program in programs.items():
            try:
                await program.start()
                await _ask(program, _join(name, server, tenant))
            except (ProgramError, TimeoutError) as error:
                row[name] = f"it did not join: {error or 'no answer'}"
        for name, program in programs.items():
            if row[name] is None:
                try:
                    row[name] = await _signed_by_all(program, names)
                except (ProgramError, TimeoutError) as error:
                    row[name] = str(error) or "no answer"
    finally:
        for program in programs.values():
            await program.stop()
    return row


async def _define(names: list[str], tenant: str, server: Server) -> None:
    states: dict[str, Any] = {"DONE": {"transitions": []}}
    for place, name in enumerate(names):
        config = {"calculationNodesTags": f"language-{name}"}
        signing = {
            "name": "sign",
            "type": "externalized",
            "executionMode": "SYNC",
            "config": config,
        }
        following = f"STEP_{place + 1}" if place + 1 < len(names) else "DONE"
        transition = {
            "name": f"by-{name}",
            "next": following,
            "manual": False,
            "processors": [signing],
        }
        states[f"STEP_{place}"] = {"transitions": [transition]}
    flow = {"version": "1", "name": "flow", "initialState": "STEP_0", "states": states}
    sample = {"sender": "x", "weight": Number("1.5")} | dict.fromkeys(names, Number("1"))
    imported = {"dataFormat": "JSON", "converter": "SAMPLE_DATA", "payload": sample}
    for kind, payload in (
        ("EntityModelImportRequest", imported),
        ("EntityModelTransitionRequest", {"transition": "LOCK"}),
        ("EntityWorkflowImportRequest", {"workflows": [flow]}),
    ):
        answer = await server.ask(tenant, kind, {"model": _MODEL, **payload})
        if answer.get("success") is not True:
            raise ProgramError(f"the service answers {shown(answer)}")


def _join(name: str, server: Server, tenant: str) -> dict[str, Any]:
    scripts = [[{"merge": {name: Number("1")}}]]
    return {
        "do": "join",
        "as": "member",
        "target": server.target,
        "access": server.access(tenant),
        "tags": [f"language-{name}"],
        "handlers": [{"kind": "processor", "name": "sign", "scripts": scripts}],
    }


async def _signed_by_all(program: Program, names: list[str]) -> str | None:
    data = {"sender": "x", "weight": Number("1.50")}
    written = await _ask(
        program,
        {
            "do": "call",
            "on": "member",
            "type": "EntityCreateRequest",
            "payload": {"dataFormat": "JSON", "payload": {"model": _MODEL, "data": data}},
        },
    )
    (entity,) = written["transactionInfo"]["entityIds"]
    read = await _ask(
        program,
        {"do": "call", "on": "member", "type": "EntityGetRequest", "payload": {"entityId": entity}},
    )
    wanted = {"data": data | dict.fromkeys(names, Number("1")), "meta": {"state": "DONE"}}
    return difference(wanted, read["payload"], {})


async def _ask(program: Program, command: dict[str, Any]) -> dict[str, Any]:
    answer = await program.answer(await program.send(command))
    if "ok" not in answer:
        raise ProgramError(shown(answer))
    ok: dict[str, Any] = answer["ok"]
    return ok
