import copy
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from definitions import PARCEL, holds, make_model

from interlock import Client, documents


@pytest.mark.parametrize(
    "text",
    [
        "1.50",
        "-0.0",
        "0.1000000000000000055511151231257827",
        "1E+400",
        "1e400",
        "0.10E1",
        "1.0e-7",
        "-0",
        "1e1000000000000000000000",
        '{"n":-1.50E-1000000000000000000000}',
        '{"a":-0,"b":[1,-0],"at":"2026-01-02"}',
        "123456789012345678901234567890",
        "9" * 5000,
        "-" + "9" * 5000,
        '{"a":[1,2.0,{"b":null}],"c":true,"d":"\\"é\\n","e":{},"f":[]}',
    ],
)
def test_what_is_read_is_written_as_it_was(text: str) -> None:
    assert documents.encode(documents.decode(text)) == text


def test_a_number_with_another_spelling_is_a_number_all_the_same() -> None:
    spelled, zero, long = documents.decode("[1e5,-0," + "9" * 5000 + "]")
    assert isinstance(spelled, Decimal)
    assert spelled == 100_000
    assert zero == 0
    assert long == Decimal("9" * 5000)
    assert hash(spelled) == hash(100_000)
    assert isinstance(zero, int)
    assert documents.encode([spelled + 1, zero + 1, copy.deepcopy(spelled)]) == "[100001,1,1e5]"


def test_a_number_whose_exponent_no_decimal_has_is_compared_and_copied_as_what_it_is() -> None:
    huge, least, tiny, zero = documents.decode(
        "[1e1000000000000000000000,-2E+1000000000000000000000,1e-1000000000000000000000,0e9999999999999999999999]"
    )
    assert least < tiny < huge > 10**100
    assert tiny == zero == 0
    assert documents.encode(copy.deepcopy([huge])) == "[1e1000000000000000000000]"
    assert repr(huge) == "Decimal('1e1000000000000000000000')"
    with pytest.raises(ValueError, match="is not a JSON number"):
        documents.encode(huge + 1)


async def test_an_entity_with_such_a_number_is_read_and_written_back(client: Client) -> None:
    await make_model(client, sample=documents.decode('{"price":1e1000000000000000000000}'))
    data = documents.decode('{"price":1e1000000000000000000000}')
    entity = await client.get((await client.create(PARCEL, data)).entity_id)
    assert str(entity.data["price"]) == "1e1000000000000000000000"
    await client.update(entity.id, entity.data)
    assert (await client.get(entity.id)).data == data


def test_a_float_is_written_so_that_it_reads_back_the_same() -> None:
    assert float(documents.decode(documents.encode(0.1 + 0.2))) == 0.1 + 0.2


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), Decimal("NaN"), Decimal("-Infinity")]
)
def test_a_number_that_json_does_not_have_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="is not a JSON number"):
        documents.encode({"value": value})


@pytest.mark.parametrize("value", [{1: "x"}, {"x"}, b"x", object()])
def test_a_value_that_has_no_json_form_is_refused(value: Any) -> None:
    with pytest.raises(TypeError):
        documents.encode([value])


def test_times_are_written_as_text() -> None:
    utc = datetime(2026, 11, 28, 2, 40, 22, 735408, tzinfo=UTC)
    written = documents.encode([utc, utc.astimezone(timezone(timedelta(hours=2))), utc.date()])
    assert documents.decode(written) == [
        "2026-11-28T02:40:22.735408Z",
        "2026-11-28T04:40:22.735408+02:00",
        "2026-11-28",
    ]
    with pytest.raises(ValueError, match="has no time zone"):
        documents.encode({"at": datetime(2026, 11, 28)})


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", "{", ""])
def test_what_is_not_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"not JSON|Expecting"):
        documents.decode(text)


async def test_a_number_keeps_its_digits_in_an_entity(client: Client) -> None:
    await make_model(client, sample={"price": 1.25, "serial": 1})
    for price in ("1.50", "0.10", "100.00", "-7.000"):
        data = {"price": Decimal(price), "serial": 7}
        entity = await client.get((await client.create(PARCEL, data)).entity_id)
        assert str(entity.data["price"]) == price
        assert isinstance(entity.data["serial"], int)
        await client.update(entity.id, entity.data)
        same = holds("$.price", "EQUALS", Decimal(price))
        (found,) = [found async for found in client.search(PARCEL, same)]
        assert str(found.data["price"]) == price
        await client.delete(entity.id)
