"""The generated operations, with payloads as they are on the wire."""

from decimal import Decimal

import pytest
from definitions import PARCEL, make_model

from interlock import Client, EntityNotFound, InterlockError
from interlock.api import CODES, given

NOBODY = "00000000-0000-0000-0000-000000000000"


async def test_numbers_keep_their_digits(client: Client) -> None:
    await make_model(client)
    weight = Decimal("1.5000000000000000000000000000000000000000")
    written = await client.api.entity_create(
        {
            "dataFormat": "JSON",
            "payload": {
                "model": {"name": PARCEL[0], "version": PARCEL[1]},
                "data": {"sku": "A", "weight": weight},
            },
        },
        idempotency_key="once",
    )
    (entity_id,) = written["transactionInfo"]["entityIds"]
    read = await client.api.entity_get({"entityId": entity_id})
    assert str(read["payload"]["data"]["weight"]) == str(weight)
    found = client.api.entity_get_all({"model": {"name": PARCEL[0], "version": PARCEL[1]}})
    assert [one["payload"]["meta"]["id"] async for one in found] == [entity_id]


async def test_an_error_says_what_to_do(client: Client) -> None:
    with pytest.raises(EntityNotFound) as caught:
        await client.api.entity_get({"entityId": NOBODY})
    assert caught.value.remedy == CODES["ENTITY_NOT_FOUND"].meaning
    assert "does not exist" in caught.value.remedy
    assert InterlockError("of a later server", code="SOMETHING_NEW").remedy == ""


def test_members_that_are_none_are_left_out_where_they_are_optional() -> None:
    assert given({"limit": None, "condition": {"value": None}}) == {"condition": {"value": None}}
