"""What operators look after: members, incidents, logs and traces."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Literal

from interlock.api.requester import given
from interlock.operations.requests import Requests
from interlock.records import ConnectedMember, Incident, Sampler, ServiceNode

if TYPE_CHECKING:
    from interlock.api.payloads import (
        IncidentsGetRequest,
        TraceSamplerSetRequest,
    )


class Administration(Requests):
    """What operators look after; changes need the role `ROLE_ADMIN`."""

    async def list_members(self) -> list[ConnectedMember]:
        """List the compute members of the tenant that are connected."""
        answer = await self.api.compute_members_get({})
        return [ConnectedMember.read(member) for member in answer["members"]]

    async def list_nodes(self) -> list[ServiceNode]:
        """List the processes that use the database; needs the role `ROLE_ADMIN`."""
        answer = await self.api.nodes_get({})
        return [ServiceNode.read(node) for node in answer["nodes"]]

    async def incidents(
        self, kind: Literal["run", "timer", "producer"] | None = None
    ) -> AsyncGenerator[Incident, None]:
        """List work that has stopped after it failed too often."""
        cursor: str | None = None
        while True:
            request: IncidentsGetRequest = {"kind": kind, "cursor": cursor}
            answer = await self.api.incidents_get(given(request))
            for item in answer["items"]:
                yield Incident.read(item)
            cursor = answer["pagination"].get("nextCursor")
            if cursor is None:
                return

    async def retry_incident(self, incident_id: str) -> None:
        """Have the work of an incident done again, and its failures counted from the beginning.

        Raises:
            IncidentNotFound: there is none.

        """
        await self.api.incident_retry({"incidentId": incident_id})

    async def cancel_incident(self, incident_id: str) -> None:
        """Cancel a run, drop a timer, or stop a schedule or trigger that has stopped.

        Raises:
            IncidentNotFound: there is none.

        """
        await self.api.incident_cancel({"incidentId": incident_id})

    async def log_level(self) -> str:
        """Return the log level: `debug`, `info`, `warn` or `error`."""
        return (await self.api.log_level_get({}))["level"]

    async def set_log_level(self, level: Literal["debug", "info", "warn", "error"]) -> str:
        """Change what the server logs until it ends; give what it was before."""
        return (await self.api.log_level_set({"level": level}))["previous"]

    async def trace_sampler(self) -> Sampler:
        """Tell which requests the server would trace."""
        return Sampler.read(await self.api.trace_sampler_get({}))

    async def set_trace_sampler(self, sampler: Sampler) -> None:
        """Change which requests the server would trace, until it ends.

        Traces are not exported yet, so this has no effect.
        """
        request: TraceSamplerSetRequest = {
            "sampler": sampler.name,
            "parentBased": sampler.parent_based,
            "ratio": sampler.ratio,
        }
        await self.api.trace_sampler_set(given(request))
