"""Why an entity did, would or would not move."""

import uuid
from typing import Any

import pytest
from definitions import PARCEL, asks, holds, make_model, processor, transition, workflow

from interlock import (
    Client,
    Context,
    CriterionFunction,
    CriterionGroup,
    CriterionLeaf,
    Entity,
    EntityNotFound,
    Member,
    ModelNotFound,
    No,
)

HEAVY, FRAGILE = holds("$.weight", "GREATER_THAN", 20), holds("$.sku", "LIKE", "GLASS%")


def both(*conditions: dict[str, Any]) -> dict[str, Any]:
    return {"type": "group", "operator": "AND", "conditions": list(conditions)}


SHIPPING = workflow(
    "NEW",
    NEW=[
        transition("hold", "HELD", criterion=both(HEAVY, FRAGILE)),
        transition("ship", "SHIPPED", manual=True, criterion=holds("$.quantity", "NOT_NULL", None)),
        transition("burn", "HELD", manual=True, disabled=True),
        transition("lose", "LOST", schedule={"delayMs": 3_600_000}),
    ],
    HELD=[],
    SHIPPED=[],
    LOST=[],
)

ASKED = workflow(
    "NEW",
    NEW=[transition("ship", "SHIPPED", processor("pack"), criterion=asks("ready"))],
    SHIPPED=[],
)


async def test_why_an_entity_stays_is_explained_leaf_by_leaf(client: Client) -> None:
    await make_model(client, flow=SHIPPING)
    written = await client.create(PARCEL, {"weight": 5, "sku": "GLASS-1"})
    explanation = await client.explain(written.entity_id)
    assert (explanation.entity_id, explanation.model) == (written.entity_id, PARCEL)
    assert explanation.state == "NEW"
    hold, ship, burn, lose = explanation.transitions
    assert (hold.name, hold.next, hold.trigger, hold.open) == ("hold", "HELD", "automated", False)
    assert hold.why.startswith("its criterion does not hold: $.weight GREATER_THAN 20")
    assert hold.criterion == CriterionGroup(
        "AND",
        held=False,
        parts=(
            CriterionLeaf("$.weight", "GREATER_THAN", 20, held=False, seen="5"),
            CriterionLeaf("$.sku", "LIKE", "GLASS%", held=None, seen=None),
        ),
    )
    assert (ship.trigger, ship.open) == ("manual", False)
    assert ship.criterion == CriterionLeaf("$.quantity", "NOT_NULL", None, held=False, seen=None)
    assert (burn.trigger, burn.open, burn.criterion) == ("disabled", False, None)
    assert (lose.trigger, lose.open) == ("scheduled", True)
    (run,) = explanation.runs
    assert (run.start, run.transition, run.settled, run.stopped) == ("update", None, "NEW", None)
    assert (await client.get(written.entity_id)).transaction_id == written.transaction_id


async def test_one_transition_can_be_explained(client: Client) -> None:
    await make_model(client, flow=SHIPPING)
    written = await client.create(PARCEL, {"weight": 5})
    explanation = await client.explain(written.entity_id, transition="ship")
    assert [way.name for way in explanation.transitions] == ["ship"]
    (run,) = explanation.runs
    assert (run.start, run.transition, run.settled) == ("transition", "ship", None)
    assert run.stopped is not None
    assert "criterion not matched" in run.stopped


async def test_what_a_transaction_did_is_explained(client: Client) -> None:
    await make_model(client, flow=SHIPPING)
    written = await client.create(PARCEL, {"weight": 50, "sku": "GLASS-1"})
    explanation = await client.explain(written.entity_id, transaction_id=written.transaction_id)
    assert (explanation.state, explanation.transitions) == ("HELD", ())
    (run,) = explanation.runs
    assert (run.start, run.settled, run.skipped_workflows) == ("create", "HELD", ())
    assert run.workflow is not None
    assert run.workflow.name == "flow"
    step = run.steps[0]
    assert (step.state, step.took, step.next, step.calls) == ("NEW", "hold", "HELD", ())
    (guard,) = step.considered
    assert (guard.name, guard.held) == ("hold", True)
    assert isinstance(guard.criterion, CriterionGroup)
    assert all(part.held for part in guard.criterion.parts)
    with pytest.raises(EntityNotFound):
        await client.explain(written.entity_id, transaction_id=str(uuid.uuid1()))
    with pytest.raises(EntityNotFound):
        await client.explain(str(uuid.uuid1()))


async def test_what_members_said_is_explained(client: Client, member: Member) -> None:
    @member.criterion("ready")
    async def ready(entity: Entity, _context: Context) -> bool | No:
        return entity.data["quantity"] > 0 or No("the box is empty")

    @member.processor("pack")
    async def pack(_entity: Entity, _context: Context) -> None:
        pass

    await make_model(client, flow=ASKED)
    async with member:
        stays = await client.create(PARCEL, {"quantity": 0})
        moves = await client.create(PARCEL, {"quantity": 1})
    past = await client.explain(stays.entity_id, transaction_id=stays.transaction_id)
    (guard,) = past.runs[0].steps[0].considered
    assert (guard.held, guard.because) == (False, "the box is empty")
    assert guard.criterion == CriterionFunction(
        "ready", held=False, reason="the box is empty", criterion=None
    )
    # The member is not asked again, not even if it is there.
    present = await client.explain(stays.entity_id)
    (ship,) = present.transitions
    assert (ship.open, ship.criterion) == (None, CriterionFunction("ready", None, None, None))
    assert "function ready" in ship.why
    assert present.runs[0].stopped == (
        "on transition ship to SHIPPED, it depends on function ready"
    )
    past = await client.explain(moves.entity_id, transaction_id=moves.transaction_id)
    step = past.runs[0].steps[0]
    assert (step.took, step.next) == ("ship", "SHIPPED")
    assert "pack succeeded" in step.calls


async def test_what_would_happen_is_explained(client: Client) -> None:
    letter = workflow("LETTER", LETTER=[]) | {
        "name": "letter",
        "criterion": holds("$.weight", "LESS_THAN", 1),
    }
    await make_model(client)
    await client.import_workflows(PARCEL, [letter, SHIPPING])
    heavy = {"weight": 50, "sku": "GLASS-1"}
    explanation = await client.explain_supposed(PARCEL, heavy)
    assert (explanation.entity_id, explanation.state) == (None, None)
    (run,) = explanation.runs
    assert (run.start, run.settled) == ("create", "HELD")
    (skipped,) = run.skipped_workflows
    assert (skipped.name, skipped.held) == ("letter", False)
    assert skipped.because is not None
    assert skipped.because.startswith("$.weight LESS_THAN 1")
    explanation = await client.explain_supposed(
        PARCEL, {"quantity": 1}, state="NEW", transition="ship"
    )
    assert explanation.state == "NEW"
    (way,) = explanation.transitions
    assert (way.name, way.open) == ("ship", True)
    assert explanation.runs[0].settled == "SHIPPED"
    assert [count.count for count in await client.count(PARCEL)] == [0]
    with pytest.raises(ModelNotFound):
        await client.explain_supposed(("unknown", 1), {})
