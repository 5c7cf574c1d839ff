"""Messages, and who is calling."""

from __future__ import annotations

import pytest

from interlock import Client, EntityNotFound


async def test_a_message_is_kept_read_and_deleted(client: Client) -> None:
    identifier = await client.create_message(
        "orders", {"n": 9007199254740993}, metadata={"k": "v"}, recipient="bob"
    )
    message = await client.get_message(identifier)
    assert message.content == {"n": 9007199254740993}
    assert message.metadata == {"k": "v"}
    assert message.header["subject"] == "orders"
    assert message.header["recipient"] == "bob"
    await client.delete_message(identifier)
    with pytest.raises(EntityNotFound):
        await client.get_message(identifier)
    with pytest.raises(EntityNotFound):
        await client.delete_message(identifier)
    await client.delete_messages([identifier])


async def test_the_account_is_that_of_the_caller(client: Client, tenant: dict[str, str]) -> None:
    account = await client.account()
    assert (account.user_id, account.user_name) == ("mock-user-001", "Mock User")
    assert account.tenant_id == account.tenant_name == tenant["x-mock-tenant"]
    assert account.roles == ("ROLE_ADMIN", "ROLE_M2M")
