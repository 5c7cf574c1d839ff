"""Files: JSON documents under paths, with a real server."""

from decimal import Decimal

import pytest

from interlock import BadRequest, Client, EntityModified, FileNotFound


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
