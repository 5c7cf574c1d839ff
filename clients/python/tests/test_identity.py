"""Who may call, where callers bear tokens."""

from __future__ import annotations

import asyncio
import base64
import json
import math
import urllib.request
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from definitions import PARCEL, SAMPLE, make_model
from servers import Server, server

from interlock import (
    BadRequest,
    Client,
    ClientCredentials,
    ConnectionLost,
    FeatureDisabled,
    Forbidden,
    KeyPairNotFound,
    Member,
    NotSupported,
    OidcProviderBlocked,
    OidcProviderDuplicate,
    OidcProviderInactive,
    OidcProviderNotFound,
    TokenClientNotFound,
    TrustedKeyNotFound,
    Unauthorized,
    UnsupportedKeyType,
)

TENANT = "6b1f0c3e-2a5d-4c7e-9b8a-0d1e2f3a4b5c"
"""Only tenants that are UUIDs have providers."""

KEY = Path(__file__).parents[3] / "tests/keys/signing.pem"


@pytest.fixture(scope="module")
async def guarded() -> AsyncIterator[Server]:
    """A server whose callers bear tokens."""
    settings = {
        "CYODA_IAM_MODE": "jwt",
        "INTERLOCK_IAM_MOCK_CALLER": "false",
        "CYODA_JWT_SIGNING_KEY_FILE": str(KEY),
        "CYODA_BOOTSTRAP_CLIENT_ID": "first",
        "CYODA_BOOTSTRAP_CLIENT_SECRET": "secret",
        "CYODA_BOOTSTRAP_TENANT_ID": TENANT,
        "CYODA_IAM_TRUSTED_KEY_REGISTRATION_ENABLED": "true",
    }
    async with server(**settings) as running:
        yield running


def token(running: Server, client_id: str, secret: str) -> dict[str, str]:
    """Get a token; the metadata with it."""
    pair = base64.b64encode(f"{client_id}:{secret}".encode()).decode()
    asked = urllib.request.Request(
        f"{running.rest}/api/oauth/token",
        b"grant_type=client_credentials",
        {"Authorization": f"Basic {pair}"},
    )
    with urllib.request.urlopen(asked) as answer:
        granted = json.load(answer)
    return {"authorization": f"Bearer {granted['access_token']}"}


def settings_key(running: Server) -> dict[str, str]:
    """The public key of the server, as a JWK."""
    with urllib.request.urlopen(f"{running.rest}/api/.well-known/jwks.json") as answer:
        key: dict[str, str] = json.load(answer)["keys"][0]
    return key


async def test_clients_are_made_and_taken_away(guarded: Server) -> None:
    async with Client(guarded.target, metadata=token(guarded, "first", "secret")) as first:
        made = await first.create_client()
        assert made.roles == ("ROLE_M2M",)
        assert made.secret not in repr(made)
        metadata = token(guarded, made.id, made.secret)
        async with Client(guarded.target, metadata=metadata) as second:
            assert (await second.account()).user_id == made.id
            with pytest.raises(Forbidden):
                await second.list_clients()
        reset = await first.reset_client_secret(made.id)
        assert (reset.id, reset.secret != made.secret) == (made.id, True)
        listed = {client.id: client for client in await first.list_clients()}
        assert set(listed) == {"first", made.id}
        assert listed[made.id].updated > listed[made.id].created
        metadata = token(guarded, made.id, reset.secret)
        await first.delete_client(made.id)
        with pytest.raises(TokenClientNotFound):
            await first.delete_client(made.id)
        with pytest.raises(Unauthorized):
            async with Client(guarded.target, metadata=metadata) as second:
                await second.account()
        with pytest.raises(FeatureDisabled):
            await first.create_client(with_admin_role=True)


async def test_a_token_is_obtained_and_used_until_it_expires(guarded: Server) -> None:
    access = ClientCredentials(f"{guarded.rest}/api/oauth/token", "first", "secret")
    async with Client(guarded.target, metadata=access) as first:
        assert (await first.account()).roles
    assert await access() == await access()


def stale(running: Server) -> ClientCredentials:
    """Make credentials with a token that a server refuses, as after a change of its key."""
    access = ClientCredentials(f"{running.rest}/api/oauth/token", "first", "secret")
    access._token, access._good_until = "stale", math.inf
    return access


async def test_a_token_that_is_refused_is_replaced_once(guarded: Server) -> None:
    access = stale(guarded)
    async with Client(guarded.target, metadata=access) as client:
        assert (await client.account()).roles
    assert access._token != "stale"
    async with Member(guarded.target, metadata=stale(guarded)) as member:
        assert (await member.client.account()).roles
    async with Client(guarded.target, metadata=stale(guarded)) as client:
        with pytest.raises(BadRequest, match=r"newest|sequence"):
            # A separate call, which is refused for another reason than its token.
            async for _ in client.api.entity_changes_subscribe({"fromSequence": 2**63 - 1}):
                pass


class Successors(ClientCredentials):
    """The tokens of the first of some clients; of the next one when it is refused, and so on."""

    def __init__(self, clients: list[ClientCredentials]) -> None:
        self.clients = clients

    async def __call__(self) -> Mapping[str, str]:
        return await self.clients[0]()

    def refused(self, metadata: Mapping[str, str]) -> None:
        if metadata == {"authorization": f"Bearer {self.clients[0]._token}"}:
            del self.clients[0]


async def test_when_tokens_are_revoked_feeds_go_on_and_what_waits_is_a_lost_connection(
    guarded: Server,
) -> None:
    url = f"{guarded.rest}/api/oauth/token"
    async with (
        Client(guarded.target, metadata=ClientCredentials(url, "first", "secret")) as first,
        asyncio.timeout(30),
    ):
        await make_model(first)
        await first.create(PARCEL, SAMPLE)
        made = [await first.create_client() for _ in range(4)]
        access = Successors([ClientCredentials(url, one.id, one.secret) for one in made])
        async with Client(guarded.target, metadata=access) as client:
            seen: list[int] = []
            async with aclosing(client.subscribe_changes(from_sequence=0)) as feed:
                for revoked in made[:2]:
                    seen.append((await anext(feed)).sequence)
                    await first.delete_client(revoked.id)
                    await first.create(PARCEL, SAMPLE)
                seen.append((await anext(feed)).sequence)
            assert sorted(set(seen)) == seen
            await client.runs.workers.register("w", ["a"])
            waiting = asyncio.ensure_future(client.runs.tasks.take("w", ["a"]))
            await asyncio.sleep(0.3)  # by then it was sent
            await first.delete_client(made[2].id)
            with pytest.raises(ConnectionLost, match="revoked") as caught:
                await waiting
            assert not caught.value.retryable
            assert (await client.account()).user_id == made[3].id


async def test_a_token_that_is_refused_is_not_replaced_again_and_again(
    guarded: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    access = stale(guarded)
    asked = 0

    def ask() -> tuple[str, float]:
        nonlocal asked
        asked += 1
        return f"stale-{asked}", 300.0

    monkeypatch.setattr(access, "_ask", ask)
    async with Client(guarded.target, metadata=access) as client:
        with pytest.raises(Unauthorized):
            await client.account()
    assert asked == 1


async def test_credentials_that_are_refused_are_not_tried_again(guarded: Server) -> None:
    wrong = ClientCredentials(f"{guarded.rest}/api/oauth/token", "first", "wrong")
    async with Client(guarded.target, metadata=wrong) as client:
        with pytest.raises(Unauthorized, match="refuses these credentials"):
            await client.account()


async def test_a_token_endpoint_that_is_not_there_may_come_back() -> None:
    nowhere = ClientCredentials("http://127.0.0.1:1/api/oauth/token", "first", "secret")
    with pytest.raises(ConnectionLost) as caught:
        await nowhere()
    assert caught.value.retryable


async def test_there_are_no_clients_while_authentication_is_mocked(client: Client) -> None:
    with pytest.raises(NotSupported):
        await client.list_clients()


async def test_key_pairs_are_rotated(guarded: Server) -> None:
    async with Client(guarded.target, metadata=token(guarded, "first", "secret")) as client:
        settings = await client.current_key_pair("client")
        assert settings.valid_to is None
        first = await client.issue_key_pair("client")
        assert await client.current_key_pair("client") == first
        second = await client.issue_key_pair("client", invalidate_current=timedelta(hours=1))
        assert (await client.current_key_pair("client")).id == second.id
        await client.invalidate_key_pair(second.id, grace=timedelta(minutes=1))
        assert (await client.current_key_pair("client")).id == settings.id
        end = datetime.now(UTC) + timedelta(days=1)
        back = await client.reactivate_key_pair(second.id, end)
        assert (back.valid_from, back.valid_to) == (second.valid_from, end)
        for pair in [first, second]:
            await client.delete_key_pair(pair.id)
            with pytest.raises(KeyPairNotFound):
                await client.delete_key_pair(pair.id)


async def test_trusted_keys_come_and_go(guarded: Server) -> None:
    jwk = settings_key(guarded)
    async with Client(guarded.target, metadata=token(guarded, "first", "secret")) as client:
        first = await client.register_trusted_key(
            "idp-1", jwk, "human", issuers=["https://idp.example"]
        )
        assert first.is_active
        assert (first.jwk, first.issuers) == (jwk, ("https://idp.example",))
        await client.register_trusted_key(
            "idp-2", jwk, "human", invalidate_previous=timedelta(hours=1)
        )
        states = {key.id: key.is_active for key in await client.list_trusted_keys()}
        assert states == {"idp-1": False, "idp-2": True}
        await client.invalidate_trusted_key("idp-2", grace=timedelta(minutes=1))
        end = datetime.now(UTC) + timedelta(days=1)
        back = await client.reactivate_trusted_key("idp-2", end)
        assert (back.is_active, back.valid_to) == (True, end)
        with pytest.raises(UnsupportedKeyType):
            await client.register_trusted_key("ec", jwk | {"kty": "EC"}, "human")
        for key in ["idp-1", "idp-2"]:
            await client.delete_trusted_key(key)
            with pytest.raises(TrustedKeyNotFound):
                await client.delete_trusted_key(key)
        assert await client.list_trusted_keys() == []


async def test_providers_come_and_go(guarded: Server) -> None:
    # Names below `invalid` never have an address, so nobody is asked.
    document = "https://id.invalid/.well-known/openid-configuration"
    async with Client(guarded.target, metadata=token(guarded, "first", "secret")) as client:
        made = await client.register_oidc_provider(
            document, expected_audiences=["interlock"], roles_claim="groups"
        )
        assert (made.well_known_config_uri, made.is_active) == (document, True)
        assert (made.expected_audiences, made.roles_claim) == (("interlock",), "groups")
        with pytest.raises(OidcProviderDuplicate):
            await client.register_oidc_provider(document)
        with pytest.raises(OidcProviderBlocked):
            await client.register_oidc_provider("https://127.0.0.1/document")
        changed = await client.update_oidc_provider(made.id, {"rolesClaim": None})
        assert (changed.expected_audiences, changed.roles_claim) == (("interlock",), None)
        outcome = (await client.reload_oidc_providers())[made.id]
        assert isinstance(outcome, str)
        assert not (await client.invalidate_oidc_provider(made.id)).is_active
        with pytest.raises(OidcProviderInactive):
            await client.update_oidc_provider(made.id, {})
        # Its keys are not known, so none of them can be told from new ones.
        with pytest.raises(OidcProviderInactive):
            await client.reactivate_oidc_provider(made.id, reactivate_keys=False)
        back = await client.reactivate_oidc_provider(made.id)
        assert await client.list_oidc_providers() == [back]
        await client.delete_oidc_provider(made.id)
        with pytest.raises(OidcProviderNotFound):
            await client.delete_oidc_provider(made.id)
