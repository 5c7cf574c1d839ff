"""The definitions that runs follow."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Literal

from interlock.api.requester import given
from interlock.run_records import CreatedDefinition, Definition, Plan, Validated
from interlock.runs.part import Part

if TYPE_CHECKING:
    from interlock.api.payloads import (
        PlanGetRequest,
        RunDefinitionCreateRequest,
        RunDefinitionDeleteRequest,
        RunDefinitionGetRequest,
        RunDefinitionSetEnabledRequest,
        RunDefinitionsGetRequest,
        RunDefinitionValidateRequest,
    )

Document = str | Mapping[str, Any]
"""A document: YAML or JSON as text, or the same as a value."""


class Definitions(Part):
    """The definitions that runs follow: `client.runs.definitions`."""

    async def create(
        self, document: Document, *, idempotency_key: str | None = None
    ) -> CreatedDefinition:
        """Create a version of a workflow, or replace it; live runs keep theirs.

        Raises:
            InvalidRequest: the document has errors; all findings are in
                `properties["findings"]`.

        """
        request: RunDefinitionCreateRequest = {"namespace": self._namespace, "document": document}
        answer = await self._api.run_definition_create(
            given(request),
            idempotency_key=idempotency_key,
        )
        return CreatedDefinition.read(answer)

    async def validate(self, document: Document) -> Validated:
        """Return all findings about a document; nothing is created."""
        request: RunDefinitionValidateRequest = {"namespace": self._namespace, "document": document}
        return Validated.read(await self._api.run_definition_validate(given(request)))

    async def list(
        self, *, kind: Literal["flo", "saga"] | None = None
    ) -> AsyncGenerator[Definition, None]:
        """List the definitions by name."""
        request: RunDefinitionsGetRequest = {"namespace": self._namespace, "kind": kind}
        async with aclosing(self._items(self._api.run_definitions_get, given(request))) as items:
            async for item in items:
                yield Definition.read(item)

    async def get(self, name: str, version: str | None = None) -> Definition:
        """Read a definition, with its document.

        Raises:
            RunDefinitionNotFound: there is none.

        """
        request: RunDefinitionGetRequest = {
            "namespace": self._namespace,
            "name": name,
            "version": version,
        }
        return Definition.read(await self._api.run_definition_get(given(request)))

    async def enable(self, name: str, version: str | None = None) -> None:
        """Accept starts again.

        Raises:
            RunDefinitionNotFound: there is none.

        """
        request: RunDefinitionSetEnabledRequest = {
            "namespace": self._namespace,
            "name": name,
            "version": version,
            "enabled": True,
        }
        await self._api.run_definition_set_enabled(given(request))

    async def disable(self, name: str, version: str | None = None) -> None:
        """Refuse starts, and pause its schedule and trigger; live runs continue.

        Raises:
            RunDefinitionNotFound: there is none.

        """
        request: RunDefinitionSetEnabledRequest = {
            "namespace": self._namespace,
            "name": name,
            "version": version,
            "enabled": False,
        }
        await self._api.run_definition_set_enabled(given(request))

    async def delete(self, name: str, version: str | None = None) -> int:
        """Delete all versions or one; return how many. Live runs continue.

        Raises:
            RunDefinitionNotFound: there is none.

        """
        request: RunDefinitionDeleteRequest = {
            "namespace": self._namespace,
            "name": name,
            "version": version,
        }
        return int((await self._api.run_definition_delete(given(request)))["deleted"])

    async def plan(self, name: str, plan: str) -> Plan:
        """Return how the executors of a plan fare: scores, breakers, rates.

        Raises:
            RunDefinitionNotFound: there is none, or it has no such plan.

        """
        request: PlanGetRequest = {"namespace": self._namespace, "definition": name, "plan": plan}
        return Plan.read(await self._api.plan_get(given(request)))
