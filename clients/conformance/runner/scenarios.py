"""Scenarios: read from their files and run against one program."""

from __future__ import annotations

import asyncio
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .documents import decode
from .forms import FormError, Variables, difference, filled, shown
from .programs import Program, ProgramError
from .servers import PATIENCE, Proxy, Server, ServerError, TokenEndpoint

FOLDER = Path(__file__).resolve().parents[1] / "scenarios"
_SHARED = "shared"
_CONNECTING = ("connect", "join", "serve")


class Deviation(Exception):
    """What was observed is not what the scenario describes."""


@dataclass(frozen=True)
class Scenario:
    """What is done, and what is expected."""

    name: str
    about: str
    server: dict[str, str] | None
    """The settings of a server that this scenario has for itself; None for the common one."""
    steps: list[dict[str, Any]]
    ends: bool = False
    """Whether the program may have ended after it."""

    @classmethod
    def all(cls, folder: Path = FOLDER) -> list[Scenario]:
        """Read the scenarios of a folder, in the order of their names."""
        shared = decode((folder / f"{_SHARED}.json").read_bytes())
        paths = sorted(path for path in folder.glob("*.json") if path.stem != _SHARED)
        return [cls._read(path, shared) for path in paths]

    @classmethod
    def _read(cls, path: Path, shared: dict[str, Any]) -> Scenario:
        described = decode(path.read_bytes())
        steps = list(_unfolded(described["steps"], shared))
        ends = bool(described.get("ends"))
        return cls(path.stem, described["about"], described.get("server"), steps, ends)


def _unfolded(steps: list[dict[str, Any]], shared: dict[str, Any]) -> Any:
    for step in steps:
        if "use" in step:
            yield from _unfolded(shared[step["use"]], shared)
        elif "repeat" in step:
            for _ in range(int(step["repeat"].digits)):
                yield from _unfolded(step["steps"], shared)
        else:
            yield step


class Run:
    """One scenario against one program."""

    def __init__(self, scenario: Scenario, program: Program, server: Server) -> None:
        self._scenario = scenario
        self._program = program
        self._server = server
        self._proxy = Proxy(server)
        self._tokens = TokenEndpoint(server)
        self._tokens_before = 0
        self._tenant = uuid.uuid4().hex
        self._variables: Variables = {}
        self._later: dict[str, str] = {}
        self._asked: dict[str, asyncio.Task[None]] = {}

    async def passes(self) -> str | None:
        """Run it, and return how it deviates; None if it does not."""
        await self._proxy.start()
        await self._tokens.start()
        number, step = 0, dict[str, Any]()
        try:
            for step in self._scenario.steps:
                number += 1
                await self._take(step)
        except Deviation as deviation:
            why = str(deviation)
        except TimeoutError:
            why = f"nothing within {PATIENCE:g} s{self._untaken()}"
        except (FormError, ProgramError, ServerError) as error:
            why = str(error)
        else:
            return None
        finally:
            for asked in self._asked.values():
                asked.cancel()
            await self._proxy.stop()
            await self._tokens.stop()
        return f"step {number}, {shown(step)}\n{why}"

    async def _take(self, step: dict[str, Any]) -> None:
        match step:
            case {"service": request, "later": name}:
                asking = self._ask_the_service(step, filled(request, self._variables))
                self._asked[name] = asyncio.create_task(asking)
            case {"answer": name} if name in self._asked:
                async with asyncio.timeout(3 * PATIENCE):
                    await self._asked.pop(name)
            case {"service": request}:
                await self._ask_the_service(step, filled(request, self._variables))
            case {"do": command, "later": name}:
                self._later[name] = await self._program.send(self._completed(command))
            case {"do": command}:
                identifier = await self._program.send(self._completed(command))
                self._compare_answer(step, await self._program.answer(identifier))
            case {"answer": name}:
                self._compare_answer(step, await self._program.answer(self._later.pop(name)))
            case {"event": form}:
                await self._expect(form)
            case {"no-event": form}:
                for event in self._program.untaken():
                    if difference(form, event, dict(self._variables)) is None:
                        raise Deviation(f"this must not happen: {shown(event)}")
            case {"server": "kill" | "stop" | "start" as what}:
                await {
                    "kill": self._server.kill,
                    "stop": self._server.stop,
                    "start": self._server.start,
                }[what]()
            case {"signal": "TERM"}:
                self._program.terminate()
            case {"proxy": "cut"}:
                self._proxy.cut()
            case {"until-expired": True}:
                await self._tokens.expired()
            case {"tokens": at_least}:
                granted = self._tokens.granted - self._tokens_before
                self._tokens_before = self._tokens.granted
                if granted < int(at_least.digits):
                    raise Deviation(f"expected {at_least} tokens to be obtained, found {granted}")
            case _:
                raise FormError("no such step")

    async def _ask_the_service(self, step: dict[str, Any], request: dict[str, Any]) -> None:
        async def ask() -> dict[str, Any]:
            return await self._server.ask(self._tenant, request["type"], request["payload"])

        answer = await ask()
        if step.get("until"):
            # Somebody else brings it about, soon.
            async with asyncio.timeout(PATIENCE):
                while difference(step["ok"], answer, dict(self._variables)):
                    await asyncio.sleep(0.02)
                    answer = await ask()
        failed = answer.get("success") is False
        form = step.get("error" if failed else "ok", None if failed else {})
        if form is None:
            raise Deviation(f"the service answers {shown(answer)}")
        if why := difference(form, answer["error"] if failed else answer, self._variables):
            raise Deviation(why)

    def _compare_answer(self, step: dict[str, Any], answer: dict[str, Any]) -> None:
        what = "error" if "error" in answer else "ok"
        wanted = "error" if "error" in step else "ok"
        if what != wanted:
            raise Deviation(f"expected `{wanted}`, found {shown(answer)}")
        if why := difference(step.get(wanted, {}), answer[what], self._variables):
            raise Deviation(f"{why}\nin {shown(answer)}")

    async def _expect(self, form: dict[str, Any]) -> None:
        def is_it(event: dict[str, Any]) -> bool:
            # Variables are kept only of the event that is taken.
            tried = dict(self._variables)
            if difference(form, event, tried) is not None:
                return False
            self._variables.update(tried)
            return True

        await self._program.event(is_it)

    def _completed(self, command: dict[str, Any]) -> dict[str, Any]:
        made = dict(command)
        if made["do"] in _CONNECTING:
            is_cut = made.get("target") == "proxy"
            made["target"] = self._proxy.target if is_cut else self._server.target
            access = made.get("access", self._server.access(self._tenant))
            if "oauth" in access:
                access = {"oauth": {"url": self._tokens.url, **access["oauth"]}}
            made["access"] = access
        completed: dict[str, Any] = filled(made, self._variables)
        return completed

    def _untaken(self) -> str:
        untaken = self._program.untaken()
        return "".join(f"\nbut {shown(event)}" for event in untaken[:10])
