import asyncio
import inspect
import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from definitions import ALL, PARCEL, SAMPLE, TAG, holds, make_model, transition, workflow
from methods import method_name
from servers import BINARY

import interlock
from interlock import (
    BadRequest,
    Client,
    Count,
    EntityModified,
    EntityNotFound,
    IdempotencyConflict,
    IncompatibleType,
    InvalidChangeLevel,
    InvalidUniqueKey,
    InvalidUniqueKeyDefinition,
    Member,
    ModelAlreadyLocked,
    ModelKey,
    ModelNotFound,
    Operations,
    PolymorphicSlot,
    SearchJobAlreadyTerminal,
    SearchJobNotFound,
    SearchResultLimit,
    UniqueKey,
    UniqueViolation,
    Update,
    WorkflowNotFound,
)
from interlock.api import Api

SHIPPING = workflow(
    "PACKED",
    PACKED=[transition("ship", "SHIPPED", manual=True), transition("lose", "LOST", manual=True)],
    SHIPPED=[transition("deliver", "DELIVERED", manual=True)],
    DELIVERED=[],
    LOST=[],
)


async def test_every_operation_of_the_server_has_a_method() -> None:
    listing = await asyncio.create_subprocess_exec(
        BINARY, "events", "--format", "json", stdout=asyncio.subprocess.PIPE
    )
    answered, _ = await listing.communicate()
    sources = (path.read_text() for path in Path(interlock.__file__).parent.rglob("*.py"))
    used = set(re.findall(r"api\.(\w+)", "".join(sources)))
    for row in json.loads(answered):
        method = method_name(row["request"])
        assert hasattr(Api, method), row["request"]
        # A change of a provider may take away members, so its payload is given as a mapping.
        assert method in used or method == "oidc_provider_update", row["request"]


async def test_a_model_lives_from_its_import_to_its_deletion(client: Client) -> None:
    identifier = await client.import_model(PARCEL, SAMPLE)
    (model,) = await client.list_models()
    assert (model.id, model.key, model.is_locked) == (identifier, ModelKey("parcel", 1), False)
    await client.lock_model(PARCEL)
    (model,) = await client.list_models()
    assert model.is_locked
    with pytest.raises(ModelAlreadyLocked):
        await client.import_model(PARCEL, SAMPLE)
    await client.unlock_model(PARCEL)
    await client.delete_model(PARCEL)
    assert await client.list_models() == []


async def test_a_model_is_exported_in_both_forms(client: Client) -> None:
    await client.import_model(PARCEL, {"sku": "A-1", "weight": 1.5})
    view = await client.export_model(PARCEL)
    assert view["model"] == {"$": {".sku": "STRING", ".weight": "DOUBLE"}}
    schema = await client.export_model(PARCEL, "JSON_SCHEMA")
    assert schema["model"]["properties"]["weight"] == {"type": "number"}


async def test_workflows_are_imported_and_exported(client: Client) -> None:
    await client.import_model(PARCEL, SAMPLE)
    with pytest.raises(WorkflowNotFound):
        await client.export_workflows(PARCEL)
    imported = await client.import_workflows(PARCEL, [SHIPPING])
    assert imported.names == ("flow",)
    other = SHIPPING | {"name": "other"}
    await client.import_workflows(PARCEL, [other])
    assert [flow["name"] for flow in await client.export_workflows(PARCEL)] == ["flow", "other"]
    await client.import_workflows(PARCEL, [other], mode="REPLACE")
    (exported,) = await client.export_workflows(PARCEL)
    assert exported["initialState"] == "PACKED"


async def test_workflows_are_drawn(client: Client) -> None:
    await client.import_model(PARCEL, SAMPLE)
    with pytest.raises(WorkflowNotFound):
        await client.draw_workflows(PARCEL)
    await client.import_workflows(PARCEL, [SHIPPING])
    mermaid = await client.draw_workflows(PARCEL)
    assert mermaid.startswith("stateDiagram-v2\n")
    assert "PACKED --> SHIPPED : ship (manual)" in mermaid
    assert (await client.draw_workflows(PARCEL, "dot")).startswith("digraph ")


async def test_an_entity_lives_from_its_creation_to_its_deletion(client: Client) -> None:
    await make_model(client, flow=SHIPPING)
    written = await client.create(PARCEL, {"sku": "B-1", "quantity": 1})
    created = await client.get(written.entity_id)
    assert (created.data, created.state) == ({"sku": "B-1", "quantity": 1}, "PACKED")
    assert (created.model, created.transaction_id) == (PARCEL, written.transaction_id)
    assert await client.list_transitions(created.id) == ["ship", "lose"]

    await client.update(created.id, {"sku": "B-1", "quantity": 2})
    updated = await client.get(created.id)
    assert (updated.data["quantity"], updated.state) == (2, "PACKED")
    assert updated.created == created.created
    assert updated.updated > created.updated

    transitioned = await client.transition(created.id, "ship")
    assert transitioned.available == ("deliver",)
    await client.update(created.id, {"sku": "B-2"}, transition="deliver")
    delivered = await client.get(created.id)
    assert (delivered.state, delivered.last_transition) == ("DELIVERED", "deliver")

    deleted = await client.delete(created.id)
    assert (deleted.entity_id, deleted.model) == (created.id, PARCEL)
    with pytest.raises(EntityNotFound):
        await client.get(created.id)

    changes = [change async for change in client.list_changes(created.id)]
    assert [change.kind for change in changes] == ["DELETE", *["UPDATE"] * 3, "CREATE"]
    assert changes[-1].transaction_id == written.transaction_id
    assert changes[-1].user == "mock-user-001"


async def test_the_past_can_be_read(client: Client) -> None:
    await make_model(client, flow=SHIPPING)
    first = await client.create(PARCEL, {"quantity": 1})
    then = (await client.get(first.entity_id)).updated
    await client.update(first.entity_id, {"quantity": 2}, transition="ship")

    at_the_time = await client.get(first.entity_id, point_in_time=then)
    assert (at_the_time.data, at_the_time.state) == ({"quantity": 1}, "PACKED")
    by_transaction = await client.get(first.entity_id, transaction_id=first.transaction_id)
    assert by_transaction.data == {"quantity": 1}
    assert await client.list_transitions(first.entity_id, point_in_time=then) == ["ship", "lose"]
    (listed,) = [entity async for entity in client.list_entities(PARCEL, point_in_time=then)]
    assert (listed.data, listed.point_in_time) == ({"quantity": 1}, then)
    (found,) = [entity async for entity in client.search(PARCEL, ALL, point_in_time=then)]
    assert found.state == "PACKED"
    (change,) = [one async for one in client.list_changes(first.entity_id, point_in_time=then)]
    assert change.kind == "CREATE"
    with pytest.raises(EntityNotFound):
        await client.get(first.entity_id, point_in_time=datetime(2020, 1, 1, tzinfo=UTC))


async def test_a_time_without_a_zone_is_no_instant(client: Client) -> None:
    with pytest.raises(ValueError, match="no time zone"):
        await client.get("any", point_in_time=datetime(2020, 1, 1))


async def test_an_update_can_be_bound_to_a_version(client: Client) -> None:
    await make_model(client)
    first = await client.create(PARCEL, {"quantity": 1})
    second = await client.update(first.entity_id, {"quantity": 2}, if_match=first.transaction_id)
    with pytest.raises(EntityModified) as caught:
        await client.update(first.entity_id, {"quantity": 3}, if_match=first.transaction_id)
    assert caught.value.code == "ENTITY_MODIFIED"
    assert (await client.get(first.entity_id)).transaction_id == second.transaction_id


async def test_so_can_a_transition_and_a_deletion(client: Client) -> None:
    await make_model(client)
    first = await client.create(PARCEL, {"quantity": 1})
    second = await client.update(first.entity_id, {"quantity": 2}, if_match=first.transaction_id)
    with pytest.raises(EntityModified):
        await client.transition(first.entity_id, "ship", if_match=first.transaction_id)
    with pytest.raises(EntityModified):
        await client.delete(first.entity_id, if_match=first.transaction_id)
    await client.delete(first.entity_id, if_match=second.transaction_id)
    with pytest.raises(EntityNotFound):
        await client.get(first.entity_id)


async def test_many_entities_are_written_in_one_transaction(client: Client) -> None:
    await make_model(client)
    await make_model(client, ("label", 1), {"text": "x"})
    written = await client.create_many(
        [(PARCEL, {"quantity": 1}), (PARCEL, {"quantity": 2}), (("label", 1), {"text": "y"})]
    )
    assert len(written.entity_ids) == 3
    assert written.chunks == ()
    updated = await client.update_many(
        Update(identifier, {"quantity": 5}) for identifier in written.entity_ids[:2]
    )
    assert updated.entity_ids == written.entity_ids[:2]
    found = [entity.data async for entity in client.list_entities(PARCEL)]
    assert found == [{"quantity": 5}] * 2
    several = await client.create(PARCEL, [{"quantity": 3}, {"quantity": 4}])
    assert len(several.entity_ids) == 2
    with pytest.raises(ValueError, match="too many values"):
        _ = several.entity_id


async def test_a_later_chunk_that_fails_is_reported(client: Client) -> None:
    await make_model(client)
    entities = [(PARCEL, {"quantity": number}) for number in range(4)]
    entities.append((("unknown", 1), {}))
    written = await client.create_many(entities, chunk_size=2)
    first, second, third = written.chunks
    assert len(first.entity_ids) == len(second.entity_ids) == 2
    assert written.transaction_id == first.transaction_id != second.transaction_id
    assert third.transaction_id is None
    assert isinstance(third.error, ModelNotFound)


async def test_an_item_whose_version_has_moved_is_left_out(client: Client) -> None:
    await make_model(client)
    written = await client.create_many([(PARCEL, {"quantity": 1})] * 2)
    stays, changes = written.entity_ids
    updated = await client.update_many(
        [Update(stays, {"quantity": 2}, if_match=stays), Update(changes, {"quantity": 2})]
    )
    (chunk,) = updated.chunks
    (failed,) = chunk.failed
    assert (failed.entity_id, failed.index) == (stays, 0)
    assert isinstance(failed.error, EntityModified)
    assert chunk.entity_ids == (changes,)


async def test_all_entities_of_a_model_can_be_deleted(client: Client) -> None:
    await make_model(client)
    first = await client.create_many([(PARCEL, {"quantity": number}) for number in range(3)])
    then = (await client.get(first.entity_ids[0])).updated
    later = await client.create(PARCEL, {"quantity": 9})
    deleted = await client.delete_all(PARCEL, point_in_time=then, list_ids=True)
    assert (deleted.count, set(deleted.entity_ids)) == (3, set(first.entity_ids))
    assert (await client.get(later.entity_id)).data == {"quantity": 9}
    assert (await client.delete_all(PARCEL)).count == 1


async def test_entities_are_listed_in_pages(client: Client) -> None:
    await make_model(client)
    written = await client.create_many([(PARCEL, {"quantity": number}) for number in range(25)])
    pages = [
        [entity.id async for entity in client.list_entities(PARCEL, page_number=number)]
        for number in range(3)
    ]
    assert [len(page) for page in pages] == [20, 5, 0]
    assert sorted(written.entity_ids) == pages[0] + pages[1]
    large = [entity.id async for entity in client.list_entities(PARCEL, page_size=100)]
    assert len(large) == 25


async def test_all_entities_are_listed_whatever_is_deleted_meanwhile(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interlock.operations.entities, "PAGE_SIZE", 10)
    await make_model(client)
    written = await client.create_many([(PARCEL, {"quantity": number}) for number in range(25)])
    then = (await client.get(written.entity_ids[0])).updated
    listed = []
    async for entity in client.list_entities(PARCEL):
        listed.append(entity.id)
        await client.delete(entity.id)
    assert listed == sorted(written.entity_ids)
    earlier = [entity.id async for entity in client.list_entities(PARCEL, point_in_time=then)]
    assert earlier == listed
    assert [entity async for entity in client.list_entities(PARCEL)] == []
    with pytest.raises(ModelNotFound):
        await anext(client.list_entities(("never", 1)))


async def test_entities_are_found(client: Client) -> None:
    await make_model(client)
    await client.create_many([(PARCEL, {"quantity": number}) for number in range(10)])
    condition = holds("$.quantity", "GREATER_OR_EQUAL", 4)
    found = client.search(
        PARCEL, condition, order_by=[{"path": "$.quantity", "desc": True}], limit=3
    )
    assert [entity.data["quantity"] async for entity in found] == [9, 8, 7]
    newest = client.search(PARCEL, ALL, order_by=[{"path": "state", "source": "meta"}], limit=1)
    assert [entity.state async for entity in newest] == ["CREATED"]


async def test_a_search_without_a_limit_does_not_answer_thousands(client: Client) -> None:
    await make_model(client)
    await client.create_many([(PARCEL, {"quantity": number}) for number in range(1001)])
    with pytest.raises(SearchResultLimit):
        _ = [entity async for entity in client.search(PARCEL, ALL)]


async def test_entities_are_counted(client: Client) -> None:
    await make_model(client, flow=SHIPPING)
    written = await client.create_many([(PARCEL, {})] * 3)
    await client.transition(written.entity_ids[0], "ship")
    parcel = ModelKey("parcel", 1)
    assert await client.count() == await client.count(PARCEL) == [Count(parcel, 3, None)]
    packed, shipped = Count(parcel, 2, "PACKED"), Count(parcel, 1, "SHIPPED")
    assert await client.count_by_state() == [packed, shipped]
    assert await client.count_by_state(PARCEL, states=["SHIPPED"]) == [shipped]


async def test_a_part_of_a_document_is_changed(client: Client) -> None:
    await make_model(client)
    written = await client.create(PARCEL, {"sku": "A-1", "quantity": 1})
    entity = written.entity_id or ""
    first = written.transaction_id or ""
    await client.patch(entity, {"quantity": 2}, if_match=first)
    assert (await client.get(entity)).data == {"sku": "A-1", "quantity": 2}
    with pytest.raises(EntityModified):
        await client.patch(entity, {}, if_match=first)
    operations = [{"op": "remove", "path": "/quantity"}]
    await client.patch(entity, operations, if_match="*", patch_format="JSON_PATCH")
    assert (await client.get(entity)).data == {"sku": "A-1"}


async def test_a_search_says_how_it_was_served(client: Client) -> None:
    await client.import_model(PARCEL, {"sku": "A-1", "quantity": 3})
    await client.lock_model(PARCEL)
    await client.create(PARCEL, {"sku": "A-1", "quantity": 3})
    three = {"type": "simple", "jsonPath": "$.quantity", "operatorType": "EQUALS", "value": 3}
    explained = await client.explain_search(PARCEL, three)
    assert (explained.served_by, explained.visited, explained.returned) == ((), 1, 1)
    assert explained.indexable == ("$.quantity",)
    indexes = await client.set_indexes(PARCEL, ["$.quantity"])
    assert [index.path for index in indexes] == ["$.quantity"]
    while not explained.served_by:
        explained = await client.explain_search(PARCEL, three)
    assert explained.served_by == ("$.quantity",)


async def test_values_of_unique_keys_belong_to_one_entity(client: Client) -> None:
    await client.import_model(PARCEL, {"sku": "A-1", "quantity": 3})
    with pytest.raises(InvalidUniqueKeyDefinition):
        await client.set_unique_keys(PARCEL, [{"id": "by-sku", "fields": ["$.none"]}])
    keys: list[UniqueKey] = [{"id": "by-sku", "fields": ["$.sku", "$.quantity"]}]
    await client.set_unique_keys(PARCEL, keys)
    assert (await client.export_model(PARCEL))["uniqueKeys"] == keys
    await client.lock_model(PARCEL)
    with pytest.raises(ModelAlreadyLocked):
        await client.set_unique_keys(PARCEL, [])
    await client.create(PARCEL, {"sku": "A-1", "quantity": 3})
    with pytest.raises(UniqueViolation):
        await client.create(PARCEL, {"sku": "A-1", "quantity": 3.0})
    with pytest.raises(InvalidUniqueKey):
        await client.create(PARCEL, {"sku": "A-2"})


async def test_what_has_a_key_is_done_once(client: Client) -> None:
    await client.import_model(PARCEL, SAMPLE, idempotency_key="import")
    await client.lock_model(PARCEL, idempotency_key="lock")
    await client.lock_model(PARCEL, idempotency_key="lock")
    first = await client.create(PARCEL, SAMPLE, idempotency_key="create")
    assert await client.create(PARCEL, SAMPLE, idempotency_key="create") == first
    with pytest.raises(IdempotencyConflict):
        await client.create_many([(PARCEL, SAMPLE)], idempotency_key="create")
    many = await client.create_many([(PARCEL, SAMPLE)] * 3, chunk_size=2, idempotency_key="many")
    again = await client.create_many([(PARCEL, SAMPLE)] * 3, chunk_size=2, idempotency_key="many")
    assert again == many
    (entity,) = first.entity_ids
    for _ in range(2):
        await client.delete(entity, idempotency_key="delete")
    assert [count.count for count in await client.count(PARCEL)] == [3]
    takes_key = {
        name
        for name, method in inspect.getmembers(Operations, inspect.iscoroutinefunction)
        if "idempotency_key" in inspect.signature(method).parameters
    }
    assert {"update", "update_many", "patch", "transition", "delete_all"} <= takes_key
    assert not {"get", "count", "account"} & takes_key


async def test_a_search_runs_on_its_own_and_its_result_is_kept(client: Client) -> None:
    await make_model(client)
    await client.create_many([(PARCEL, SAMPLE)] * 25)
    search = await client.submit_search(PARCEL, ALL)
    assert (search.status, search.count) == ("RUNNING", 0)
    while search.status == "RUNNING":
        await asyncio.sleep(0.01)
        search = await client.search_status(search.id)
    assert (search.status, search.count) == ("SUCCESSFUL", 25)
    assert search.expires is not None
    pages = [
        [entity.id async for entity in client.search_results(search.id, page_number=number)]
        for number in range(4)
    ]
    assert [len(page) for page in pages] == [10, 10, 5, 0]
    assert len({entity for page in pages for entity in page}) == 25
    whole = [entity.id async for entity in client.search_results(search.id, page_size=100)]
    assert whole == [entity for page in pages for entity in page]
    with pytest.raises(SearchJobAlreadyTerminal):
        await client.cancel_search(search.id)
    nobody = "00000000-0000-0000-0000-000000000000"
    with pytest.raises(SearchJobNotFound):
        await client.search_status(nobody)
    with pytest.raises(SearchJobNotFound):
        _ = [entity async for entity in client.search_results(nobody)]


async def test_any_event_type_can_be_asked_for_by_name(client: Client) -> None:
    await make_model(client)
    model = {"model": {"name": "parcel", "version": 1}}
    answer = await client.call("EntityModelGetAllRequest", {})
    assert [model["name"] for model in answer["models"]] == ["parcel"]
    counts = [item["count"] async for item in client.stream("EntityStatsGetRequest", model)]
    assert counts == [0]
    with pytest.raises(TypeError, match="streamed"):
        await client.call("EntityStatsGetRequest", model)
    with pytest.raises(BadRequest, match="not accepted by this method"):
        await anext(client.stream("EntityModelGetAllRequest", {}))


async def test_warnings_are_passed_on(client: Client) -> None:
    await make_model(client)
    written = await client.create(PARCEL, {})
    assert written.warnings[0].startswith("no workflows imported for model")


async def test_entities_widen_a_model_as_far_as_its_level_goes(client: Client) -> None:
    await make_model(client)
    unknown = {"weight": "heavy", "colour": ["red"]}
    with pytest.raises(IncompatibleType):
        await client.create(PARCEL, unknown)
    found = await client.validate(PARCEL, unknown)
    assert [(place.path, place.expected, place.found) for place in found] == [
        ("weight", ("DOUBLE",), "STRING"),
        ("colour", (), None),
    ]
    await client.set_change_level(PARCEL, "STRUCTURAL")
    await client.create(PARCEL, unknown)
    assert await client.validate(PARCEL, unknown) == []
    with pytest.raises(PolymorphicSlot):
        await client.create(PARCEL, {"colour": {"hue": 7}})
    with pytest.raises(InvalidChangeLevel):
        await client.set_change_level(PARCEL, "ALL")  # type: ignore[arg-type]


async def test_the_processes_of_the_service_are_listed(client: Client) -> None:
    (node,) = await client.list_nodes()
    assert node.live
    assert node.address.startswith("http://")


async def test_who_is_connected_is_listed(client: Client, member: Member) -> None:
    assert await client.list_members() == []
    async with member:
        (connected,) = await client.list_members()
        assert connected.tags == (TAG.lower(),)
        assert (connected.in_flight, connected.served, connected.failed) == (0, 0, 0)
        assert connected.last_seen >= connected.joined
