"""What an operator may change while the server runs."""

from __future__ import annotations

import pytest

from interlock import BadRequest, Client, Forbidden, IncidentNotFound, Sampler


async def test_the_log_level_is_read_and_changed(client: Client) -> None:
    level = await client.log_level()
    assert await client.set_log_level("error") == level
    assert await client.log_level() == "error"
    assert await client.set_log_level("info") == "error"


async def test_the_sampler_is_read_and_changed(client: Client) -> None:
    for sampler in [Sampler("ratio", 0.5, parent_based=False), Sampler("always")]:
        await client.set_trace_sampler(sampler)
        assert await client.trace_sampler() == sampler
    with pytest.raises(BadRequest):
        await client.set_trace_sampler(Sampler("always", 0.5))


async def test_incidents_are_listed_and_closed(client: Client) -> None:
    assert [one async for one in client.incidents("run")] == []
    with pytest.raises(IncidentNotFound):
        await client.retry_incident("run-1")
    with pytest.raises(IncidentNotFound):
        await client.cancel_incident("run-1")


async def test_only_administrators_may(target: str) -> None:
    async with Client(target, metadata={"x-mock-roles": "ROLE_M2M"}) as client:
        with pytest.raises(Forbidden):
            await anext(client.incidents())
        with pytest.raises(Forbidden):
            await client.log_level()
