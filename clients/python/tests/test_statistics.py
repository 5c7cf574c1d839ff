"""Counting entities by what they hold, and deleting those that match."""

from __future__ import annotations

import pytest

from interlock import Client, InvalidCondition, InvalidQuery

SALES = [{"region": "eu", "qty": 2}, {"region": "eu", "qty": 4}, {"region": "us", "qty": 1}]


async def _sales(client: Client) -> None:
    await client.import_model(("sale", 1), SALES[0])
    await client.lock_model(("sale", 1))
    for sale in SALES:
        await client.create(("sale", 1), sale)


async def test_entities_are_grouped_and_added_up(client: Client) -> None:
    await _sales(client)
    groups = await client.group(
        ("sale", 1),
        ["state", "$.region"],
        aggregations=[{"op": "sum", "field": "$.qty", "as": "total"}],
    )
    assert [(group.key["$.region"], group.count, group.aggregations) for group in groups] == [
        ("eu", 2, {"total": 6}),
        ("us", 1, {"total": 1}),
    ]
    with pytest.raises(InvalidQuery):
        await client.group(("sale", 1), [])


async def test_what_matches_is_deleted(client: Client) -> None:
    await _sales(client)
    condition = {"type": "simple", "jsonPath": "$.qty", "operatorType": "LESS_THAN", "value": 3}
    deleted = await client.delete_all(("sale", 1), condition=condition, list_ids=True)
    assert (deleted.count, len(deleted.entity_ids), deleted.errors) == (2, 2, {})
    with pytest.raises(InvalidCondition):
        await client.delete_all(("sale", 1), condition={})
    assert [count.count for count in await client.count(("sale", 1))] == [1]
