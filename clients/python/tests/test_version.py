"""Which servers a client understands."""

import pytest
from scripts import Side, scripted

from interlock import Client, Member, ServerNotUnderstood
from interlock.version import VERSION, is_understood


@pytest.mark.parametrize(
    ("server", "client", "expected"),
    [
        ("0.1.0", "0.1.9", True),
        ("0.2.0", "0.1.0", False),
        ("1.0.0", "0.1.0", False),
        ("1.7.3", "1.0.0", True),
        ("2.0.0", "1.9.9", False),
        ("10.0.0", "1.0.0", False),
        ("0.1.0-rc.1+build", "0.1.0", True),
        ("0", "0.0.1", True),
        ("", "0.1.0", False),
        ("tomorrow's", "0.1.0", False),
    ],
)
def test_versions_agree_in_the_first_number_that_is_not_zero(
    server: str, client: str, *, expected: bool
) -> None:
    assert is_understood(server, client) is expected


async def answers(server: Side) -> None:
    request = await server.read()
    await server.write("AccountGetResponse", {"success": True}, requestid=request.id)
    await server.read()


async def test_a_server_of_another_version_is_refused_at_once_and_by_name() -> None:
    streams = 0

    async def script(server: Side) -> None:
        nonlocal streams
        streams += 1
        await server.greet()
        await server.read()

    said = "the server is of version 2.0.0; this client understands 0.1"
    async with scripted(script, version="2.0.0") as target:
        async with Client(target) as client:
            with pytest.raises(ServerNotUnderstood, match=said) as refused:
                await client.call("AccountGetRequest", {})
        assert (refused.value.code, refused.value.retryable) == ("SERVER_NOT_UNDERSTOOD", False)
        with pytest.raises(ServerNotUnderstood, match=said):
            await Member(target).run()
    assert streams == 2


async def test_a_feed_of_a_server_of_another_version_is_refused() -> None:
    async def script(_server: Side) -> None:
        raise AssertionError

    async with scripted(script, version="2.0.0") as target, Client(target) as client:
        with pytest.raises(ServerNotUnderstood):
            await anext(client.subscribe_changes(from_sequence=0))


@pytest.mark.parametrize("version", [None, VERSION])
async def test_a_server_of_this_version_or_of_none_is_accepted(version: str | None) -> None:
    async with scripted(answers, version=version) as target, Client(target) as client:
        await client.call("AccountGetRequest", {})
