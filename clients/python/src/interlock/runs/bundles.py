"""Sagas and state machines."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from interlock.api.requester import given
from interlock.run_records import Bundle, Fired, Machine
from interlock.runs.part import Part

if TYPE_CHECKING:
    from interlock.api.payloads import (
        BundleApplyRequest,
        BundleDeleteRequest,
        BundleGetRequest,
        BundlesGetRequest,
        MachinesGetRequest,
        MachineTransitionRequest,
    )


class Bundles(Part):
    """Sagas and state machines, in HCL files applied together: `client.runs.bundles`."""

    async def apply(
        self,
        files: Mapping[str, str],
        *,
        bundle: str | None = None,
        variables: Mapping[str, str] | None = None,
        dry_run: bool = False,
        idempotency_key: str | None = None,
    ) -> Bundle:
        """Replace a bundle by these texts, which are named by their paths.

        `variables` are the values of `env("NAME")`; the server seals them. A dry run stores
        nothing.

        Raises:
            InvalidRequest: the files have errors; all findings are in
                `properties["findings"]`.

        """
        request: BundleApplyRequest = {
            "namespace": self._namespace,
            "bundle": bundle,
            "files": [{"path": path, "text": text} for path, text in files.items()],
            "variables": None if variables is None else dict(variables),
            "dryRun": dry_run or None,
        }
        return Bundle.read(
            await self._api.bundle_apply(
                given(request),
                idempotency_key=idempotency_key,
            )
        )

    async def list(self) -> AsyncGenerator[Bundle, None]:
        """List the bundles by name."""
        request: BundlesGetRequest = {"namespace": self._namespace}
        async with aclosing(self._items(self._api.bundles_get, given(request))) as items:
            async for item in items:
                yield Bundle.read(item)

    async def get(self, bundle: str) -> Bundle:
        """Read a bundle, with its files.

        Raises:
            BundleNotFound: there is none.

        """
        request: BundleGetRequest = {"namespace": self._namespace, "bundle": bundle}
        return Bundle.read(await self._api.bundle_get(given(request)))

    async def delete(self, bundle: str) -> None:
        """Delete a bundle; live runs continue.

        Raises:
            BundleNotFound: there is none.

        """
        request: BundleDeleteRequest = {"namespace": self._namespace, "bundle": bundle}
        await self._api.bundle_delete(given(request))

    async def machines(self) -> AsyncGenerator[Machine, None]:
        """List the state machines of all bundles by name."""
        request: MachinesGetRequest = {"namespace": self._namespace}
        async with aclosing(self._items(self._api.machines_get, given(request))) as items:
            async for item in items:
                yield Machine.read(item)

    async def fire(
        self,
        machine: str,
        entity: str,
        entity_id: str,
        event: str,
        data: Mapping[str, Any] | None = None,
        *,
        connector: str | None = None,
        idempotency_key: str | None = None,
    ) -> Fired:
        """Fire an event of a state machine for a row of a table, or for an entity.

        Args:
            machine: the name of the state machine.
            entity: the table or, if the connector is no database, the model.
            entity_id: the id of the row or the entity.
            event: as the state names it after `on`.
            data: what guards and actions read as `input`.
            connector: the database; that of the first flow that names the machine, if absent.
            idempotency_key: the same for all repeats of this call.

        Raises:
            MachineNotFound: there is none.
            EntityNotFound: there is no such row or entity.
            TransitionNotFound: the state does not have the event.
            FinalState: no event leads out of the state.
            GuardRejected: the guard does not hold for the data.

        """
        request: MachineTransitionRequest = {
            "namespace": self._namespace,
            "machine": machine,
            "entity": entity,
            "entityId": entity_id,
            "event": event,
            "data": None if data is None else dict(data),
            "connector": connector,
        }
        return Fired.read(
            await self._api.machine_transition(
                given(request),
                idempotency_key=idempotency_key,
            )
        )
