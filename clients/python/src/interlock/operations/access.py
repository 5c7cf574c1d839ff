"""Who may call: clients, keys and OpenID Connect providers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from interlock.api.requester import given
from interlock.operations.requests import Requests
from interlock.operations.values import KeyAudience
from interlock.records import Account, Credentials, KeyPair, OidcProvider, TokenClient, TrustedKey

if TYPE_CHECKING:
    from interlock.api.payloads import (
        KeyPairIssueRequest,
        KeyPairReactivateRequest,
        OidcProviderRegisterRequest,
        OidcProvidersGetRequest,
        TrustedKeyReactivateRequest,
        TrustedKeyRegisterRequest,
    )


class Access(Requests):
    """Who may call, where callers bear tokens; all but `account` needs the role `ROLE_ADMIN`."""

    async def account(self) -> Account:
        """Return the authenticated caller."""
        return Account.read(await self.api.account_get({}))

    async def list_clients(self) -> list[TokenClient]:
        """List the clients of the tenant that may get tokens."""
        answer = await self.api.clients_get({})
        return [TokenClient.read(item) for item in answer["clients"]]

    async def create_client(self, *, with_admin_role: bool = False) -> Credentials:
        """Create a client that may obtain tokens.

        Raises:
            FeatureDisabled: it shall administer, and the settings of the server forbid that.

        """
        return Credentials.read(await self.api.client_create({"withAdminRole": with_admin_role}))

    async def reset_client_secret(self, client_id: str) -> Credentials:
        """Replace the secret of a client; this revokes the old one and its tokens.

        Raises:
            TokenClientNotFound: there is none.

        """
        return Credentials.read(await self.api.client_secret_reset({"clientId": client_id}))

    async def delete_client(self, client_id: str) -> None:
        """Delete a client; its tokens are worthless then.

        Raises:
            TokenClientNotFound: there is none.

        """
        await self.api.client_delete({"clientId": client_id})

    async def issue_key_pair(
        self,
        audience: KeyAudience,
        *,
        valid_from: datetime | None = None,
        valid_to: datetime | None = None,
        invalidate_current: timedelta | None = None,
    ) -> KeyPair:
        """Issue a key pair that signs the tenant's tokens.

        With `invalidate_current` the one that signs now signs no more; for that time what it has
        signed is still good.
        """
        request: KeyPairIssueRequest = {
            "algorithm": "RS256",
            "audience": audience,
            "validFrom": valid_from.isoformat() if valid_from else None,
            "validTo": valid_to.isoformat() if valid_to else None,
        }
        request = given(request)
        if invalidate_current is not None:
            request["invalidateCurrent"] = True
            request["invalidateGracePeriodSec"] = int(invalidate_current.total_seconds())
        return KeyPair.read(await self.api.key_pair_issue(request))

    async def current_key_pair(self, audience: KeyAudience) -> KeyPair:
        """Tell which key pair signs the tenant's tokens.

        Raises:
            KeyPairNotFound: none does.

        """
        return KeyPair.read(await self.api.key_pair_get({"audience": audience}))

    async def invalidate_key_pair(self, key_id: str, *, grace: timedelta = timedelta(0)) -> None:
        """Have a key pair sign no more; for the time of grace what it has signed is still good.

        Raises:
            KeyPairNotFound: there is no such pair.

        """
        await self.api.key_pair_invalidate(
            {"keyId": key_id, "gracePeriodSec": int(grace.total_seconds())}
        )

    async def reactivate_key_pair(
        self, key_id: str, valid_to: datetime, *, valid_from: datetime | None = None
    ) -> KeyPair:
        """Have a key pair sign again, and make good what it has signed.

        Raises:
            KeyPairNotFound: there is no such pair.

        """
        request: KeyPairReactivateRequest = {
            "keyId": key_id,
            "validTo": valid_to.isoformat(),
            "validFrom": valid_from.isoformat() if valid_from else None,
        }
        answer = await self.api.key_pair_reactivate(given(request))
        return KeyPair.read(answer)

    async def delete_key_pair(self, key_id: str) -> None:
        """Delete a key pair; what it has signed is worthless then.

        Raises:
            KeyPairNotFound: there is no such pair.

        """
        await self.api.key_pair_delete({"keyId": key_id})

    async def list_trusted_keys(self) -> list[TrustedKey]:
        """List the keys that the tenant trusts, also those that are over.

        Raises:
            FeatureDisabled: the settings of the server do not know them.

        """
        answer = await self.api.trusted_keys_get({})
        return [TrustedKey.read(item) for item in answer["trustedKeys"]]

    async def register_trusted_key(
        self,
        key_id: str,
        jwk: Mapping[str, Any],
        audience: KeyAudience,
        *,
        issuers: Iterable[str] = (),
        valid_from: datetime | None = None,
        valid_to: datetime | None = None,
        invalidate_previous: timedelta | None = None,
    ) -> TrustedKey:
        """Trust a key: clients may exchange tokens that it has signed.

        With `invalidate_previous` the others of that audience are trusted for that time only.

        Raises:
            TrustedKeyTaken: another tenant trusts a key of this name.
            TooManyTrustedKeys: the tenant trusts as many as it may.

        """
        request: TrustedKeyRegisterRequest = {
            "keyId": key_id,
            "jwk": dict(jwk),
            "audience": audience,
            "issuers": list(issuers) or None,
            "validFrom": valid_from.isoformat() if valid_from else None,
            "validTo": valid_to.isoformat() if valid_to else None,
        }
        request = given(request)
        if invalidate_previous is not None:
            request["invalidatePrevious"] = True
            request["invalidateGracePeriodSec"] = int(invalidate_previous.total_seconds())
        return TrustedKey.read(await self.api.trusted_key_register(request))

    async def invalidate_trusted_key(self, key_id: str, *, grace: timedelta = timedelta(0)) -> None:
        """Trust a key no more; for the time of grace what it has signed is still exchanged.

        Raises:
            TrustedKeyNotFound: there is no such key.

        """
        await self.api.trusted_key_invalidate(
            {"keyId": key_id, "gracePeriodSec": int(grace.total_seconds())}
        )

    async def reactivate_trusted_key(
        self, key_id: str, valid_to: datetime, *, valid_from: datetime | None = None
    ) -> TrustedKey:
        """Trust a key again.

        Raises:
            TrustedKeyNotFound: there is no such key.

        """
        request: TrustedKeyReactivateRequest = {
            "keyId": key_id,
            "validTo": valid_to.isoformat(),
            "validFrom": valid_from.isoformat() if valid_from else None,
        }
        answer = await self.api.trusted_key_reactivate(given(request))
        return TrustedKey.read(answer)

    async def delete_trusted_key(self, key_id: str) -> None:
        """Delete a key that the tenant trusts.

        Raises:
            TrustedKeyNotFound: there is no such key.

        """
        await self.api.trusted_key_delete({"keyId": key_id})

    async def list_oidc_providers(self, *, active_only: bool = False) -> list[OidcProvider]:
        """List the OpenID Connect providers that the tenant has registered.

        Args:
            active_only: leave out those that were invalidated.

        """
        request: OidcProvidersGetRequest = {"activeOnly": active_only or None}
        answer = await self.api.oidc_providers_get(given(request))
        return [OidcProvider.read(item) for item in answer["providers"]]

    async def register_oidc_provider(
        self,
        well_known_config_uri: str,
        *,
        issuers: Iterable[str] = (),
        expected_audiences: Iterable[str] = (),
        roles_claim: str | None = None,
    ) -> OidcProvider:
        """Take the tokens of an OpenID Connect provider.

        Raises:
            OidcProviderDuplicate: the tenant has it already.
            OidcProviderBlocked: it is not on the public internet.
            OidcInvalidTenant: the id of the tenant is no UUID.

        """
        request: OidcProviderRegisterRequest = {
            "wellKnownConfigUri": well_known_config_uri,
            "issuers": list(issuers) or None,
            "expectedAudiences": list(expected_audiences) or None,
            "rolesClaim": roles_claim,
        }
        answer = await self.api.oidc_provider_register(given(request))
        return OidcProvider.read(answer["provider"])

    async def update_oidc_provider(
        self, provider_id: str, changes: Mapping[str, Any]
    ) -> OidcProvider:
        """Change a provider: `issuers`, `expectedAudiences`, `rolesClaim`.

        What is absent stays; `None` and an empty list take away what there is.

        Raises:
            OidcProviderNotFound: there is no such provider.
            OidcProviderInactive: it is invalidated.

        """
        payload = {"providerId": provider_id, **changes}
        answer = await self.call("OidcProviderUpdateRequest", payload)
        return OidcProvider.read(answer["provider"])

    async def invalidate_oidc_provider(self, provider_id: str) -> OidcProvider:
        """Take the tokens of a provider no more.

        Raises:
            OidcProviderNotFound: there is no such provider.

        """
        answer = await self.api.oidc_provider_invalidate({"providerId": provider_id})
        return OidcProvider.read(answer["provider"])

    async def reactivate_oidc_provider(
        self, provider_id: str, *, reactivate_keys: bool = True
    ) -> OidcProvider:
        """Take the tokens of a provider again; without `reactivate_keys`, only those of new keys.

        Raises:
            OidcProviderNotFound: there is no such provider.

        """
        answer = await self.api.oidc_provider_reactivate(
            {"providerId": provider_id, "reactivateKeys": reactivate_keys}
        )
        return OidcProvider.read(answer["provider"])

    async def delete_oidc_provider(self, provider_id: str) -> None:
        """Delete a provider.

        Raises:
            OidcProviderNotFound: there is no such provider.

        """
        await self.api.oidc_provider_delete({"providerId": provider_id})

    async def reload_oidc_providers(self) -> dict[str, int | str]:
        """Fetch the keys of all providers: for each the number of keys, or the error."""
        answer = await self.api.oidc_providers_reload({})
        return {
            item["id"]: item["keys"] if "keys" in item else item["error"]
            for item in answer["providers"]
        }
