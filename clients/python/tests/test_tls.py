"""A server that speaks TLS, and who is believed to be it."""

from pathlib import Path

import grpc
import pytest
from servers import server

from interlock import Client, ConnectionLost, Member

KEYS = Path(__file__).parents[3] / "tests/keys"


async def test_client_and_member_over_tls() -> None:
    settings = {
        "INTERLOCK_TLS_CERT_FILE": str(KEYS / "tls-server.pem"),
        "INTERLOCK_TLS_KEY_FILE": str(KEYS / "tls-server.key"),
    }
    credentials = grpc.ssl_channel_credentials((KEYS / "tls-ca.pem").read_bytes())
    async with server(**settings) as running:
        async with Client(running.target, credentials=credentials) as client:
            assert (await client.account()).user_id
            async with Member(running.target, tags=["tls"], credentials=credentials):
                members = await client.list_members()
            assert [member.tags for member in members] == [("tls",)]
        # Neither the authorities of this machine, which did not sign it, nor plain text will do.
        for wrong in (grpc.ssl_channel_credentials(), None):
            with pytest.raises(ConnectionLost) as raised:
                async with Client(running.target, credentials=wrong, connect_timeout=1) as client:
                    await client.account()
            # gRPC may name something else: what happened at the last address of the host.
            assert ("certificates" in str(raised.value)) == (wrong is not None)


async def test_where_clients_need_a_certificate_only_those_that_show_one_are_served() -> None:
    certificate, key = (KEYS / "tls-server.pem", KEYS / "tls-server.key")
    settings = {
        "INTERLOCK_TLS_CERT_FILE": str(certificate),
        "INTERLOCK_TLS_KEY_FILE": str(key),
        "INTERLOCK_TLS_CLIENT_CA_FILE": str(KEYS / "tls-ca.pem"),
    }
    authority = (KEYS / "tls-ca.pem").read_bytes()
    shows_one = grpc.ssl_channel_credentials(authority, key.read_bytes(), certificate.read_bytes())
    async with server(**settings) as running:
        async with Client(running.target, credentials=shows_one) as client:
            assert (await client.account()).user_id
        shows_none = grpc.ssl_channel_credentials(authority)
        with pytest.raises(ConnectionLost):
            async with Client(running.target, credentials=shows_none, connect_timeout=1) as client:
                await client.account()
