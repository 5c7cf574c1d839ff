"""Files: JSON documents under paths, and managers in them, with a real server."""

import asyncio
from decimal import Decimal
from typing import Any

import pytest

from interlock import (
    BadRequest,
    Client,
    EntityModified,
    FileNotFound,
    ManagerNotFound,
    Member,
    TaskContext,
)


async def test_a_file_is_written_read_listed_and_deleted(client: Client) -> None:
    files = client.files
    first = await files.put("/states/a.json", {"amount": Decimal("1.50")}, if_match="")
    with pytest.raises(EntityModified):
        await files.put("/states/a.json", {}, if_match="")
    second = await files.put("/states/a.json", [1], if_match=first)
    read = await files.get("/states/a.json")
    assert (read.content, read.version, read.path) == ([1], second, "/states/a.json")
    await files.put("/b.json", None)
    assert [file.path async for file in files.list()] == ["/b.json", "/states/a.json"]
    listed = [file async for file in files.list("/states/")]
    assert [(file.version, file.size) for file in listed] == [(second, 3)]
    assert listed[0].updated_at == read.updated_at
    other = files.within("other")
    assert [file async for file in other.list()] == []
    with pytest.raises(EntityModified):
        await files.delete("/states/a.json", if_match=first)
    await files.delete("/states/a.json", if_match=second)
    with pytest.raises(FileNotFound):
        await files.get("/states/a.json")
    with pytest.raises(BadRequest):
        await files.put("/../a", 1)


async def test_a_member_does_the_items_of_managers(client: Client, member: Member) -> None:
    @member.workflow("org.acme.flows:import-file")
    async def import_file(item: Any, context: TaskContext) -> None:
        await context.client.files.put(f"/done/{item['item']}.json", item["target"])
        if item["item"] == 1:
            raise ValueError("it is broken on purpose")

    worker = {
        "order": 1,
        "configuration_code": "org.acme.flows",
        "user_code": "import-file",
        "import_options": {"target": "trades"},
        "items": [{"status": "to-do", "state_path": f"/states/{n}.json"} for n in range(2)],
    }
    document = {"configuration_code": "org.acme", "user_code": "batch", "workers": [worker]}
    name = await client.managers.create(document)
    async with member, asyncio.timeout(30):
        while True:
            ticked = await client.managers.tick()
            if ticked.registry["done"]:
                break
            await asyncio.sleep(0.05)
    shown = await client.managers.get(name)
    assert shown.document["status"] == "error"
    items = shown.document["workers"][0]["items"]
    assert [item["status"] for item in items] == ["success", "error"]
    assert "it is broken on purpose" in items[1]["error"]
    # What a failed task wrote is not kept.
    assert [file.path async for file in client.files.list("/done/")] == ["/done/0.json"]


async def test_a_manager_is_listed_paused_resumed_and_reset(client: Client) -> None:
    managers = client.managers
    codes = {"configuration_code": "org.acme", "user_code": "nobody"}
    worker = {**codes, "items": [{"status": "skip"}]}
    document = {"configuration_code": "org.acme", "user_code": "batch", "workers": [worker]}
    name = await managers.create(document)
    listed = [manager async for manager in managers.list()]
    assert [(manager.manager, manager.workers["total"]) for manager in listed] == [(name, 1)]
    assert await managers.pause(name) == "paused"
    assert [manager.manager async for manager in managers.list("paused")] == [name]
    assert (await managers.tick([name])).registry["paused"] == [name]
    assert await managers.resume(name) == "in-progress"
    assert await managers.reset(name, worker="nobody", item=0) == "in-progress"
    shown = await managers.get(name)
    assert shown.document["workers"][0]["items"][0]["status"] == "to-do"
    with pytest.raises(ManagerNotFound):
        await managers.within("other").get(name)
    with pytest.raises(ManagerNotFound):
        await managers.tick(["none.json"])
