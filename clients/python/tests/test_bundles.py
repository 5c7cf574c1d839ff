"""Sagas in bundles of HCL, with a real server."""

import asyncio
from contextlib import aclosing

import pytest

from interlock import (
    BundleNotFound,
    Client,
    FinalState,
    GuardRejected,
    InvalidRequest,
    MachineNotFound,
    SignalNotAwaited,
)

SAGA = """
saga "approve" {
  step "wait" {
    await = "approved"
  }
}
state_machine "order" {
  initial = "open"
  state "open" {
    on "close" {
      transition_to = "closed"
      guard         = "input.score > 50"
    }
  }
  state "closed" { final = true }
}
"""


async def test_a_bundle_is_applied_its_saga_runs_and_it_is_deleted(client: Client) -> None:
    bundles = client.runs.bundles
    tried = await bundles.apply({"a.hcl": SAGA}, bundle="b", dry_run=True)
    assert (tried.sagas, tried.machines) == (("approve",), ("order",))
    with pytest.raises(BundleNotFound):
        await bundles.get("b")
    applied = await bundles.apply({"a.hcl": SAGA}, bundle="b")
    assert (applied.name, applied.version, applied.change) == ("b", 1, "created")
    assert [bundle.name async for bundle in bundles.list()] == ["b"]
    assert (await bundles.get("b")).files == {"a.hcl": SAGA}
    assert [machine.states async for machine in bundles.machines()] == [("open", "closed")]
    with pytest.raises(InvalidRequest):
        await bundles.apply({"a.hcl": "saga {"}, bundle="b")

    started = await client.runs.start("approve")
    async with (
        asyncio.timeout(30),
        aclosing(client.runs.follow(started.run_id, from_sequence=0)) as history,
    ):
        async for event in history:
            if event.event_type == "waiting_for_signal":
                break
    with pytest.raises(SignalNotAwaited):
        await client.runs.signal(started.run_id, "denied")
    await bundles.delete("b")
    await client.runs.signal(started.run_id, "approved")
    assert (await client.runs.finished(started.run_id)).status == "completed"


async def test_an_event_moves_an_entity_whose_model_has_the_machine(client: Client) -> None:
    bundles = client.runs.bundles
    await bundles.apply({"a.hcl": SAGA}, bundle="b")
    await client.import_model(("orders", 1), {"n": 1})
    await client.lock_model(("orders", 1))
    entity = (await client.create(("orders", 1), {"n": 1})).entity_id
    with pytest.raises(MachineNotFound):
        await bundles.fire("none", "orders", entity, "close")
    with pytest.raises(GuardRejected):
        await bundles.fire("order", "orders", entity, "close", {"score": 1})
    fired = await bundles.fire("order", "orders", entity, "close", {"score": 51})
    assert (fired.entity_id, fired.previous_state, fired.current_state) == (
        entity,
        "open",
        "closed",
    )
    with pytest.raises(FinalState):
        await bundles.fire("order", "orders", entity, "close", {"score": 51})
