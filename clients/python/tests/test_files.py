"""Files: JSON documents under paths, and managers in them, with a real server."""

import asyncio
from decimal import Decimal
from typing import Any

import pytest

from interlock import BadRequest, Client, EntityModified, FileNotFound, Member, TaskContext


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
    created = await client.call("ManagerCreateRequest", {"document": document})
    async with member, asyncio.timeout(30):
        while True:
            ticked = await client.call("ManagerTickRequest", {})
            if ticked["registry"]["done"]:
                break
            await asyncio.sleep(0.05)
    shown = await client.call("ManagerGetRequest", {"manager": created["manager"]})
    assert shown["document"]["status"] == "error"
    items = shown["document"]["workers"][0]["items"]
    assert [item["status"] for item in items] == ["success", "error"]
    assert "it is broken on purpose" in items[1]["error"]
    # What a failed task wrote is not kept.
    assert [file.path async for file in client.files.list("/done/")] == ["/done/0.json"]
