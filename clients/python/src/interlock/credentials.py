"""Access tokens by the client credentials grant, obtained again when they are about to expire."""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any

from interlock import errors

_TIMEOUT = 10.0

# A token is replaced this long before it expires, or after nine tenths of its life.
_MARGIN = 30.0
_MARGIN_PART = 0.1

# How the token endpoint says that these credentials are not accepted; anything else may pass.
_REFUSED = (400, 401, 403)


class ClientCredentials:
    """Makes the metadata of streams out of a client id and its secret.

        access = ClientCredentials("http://localhost:8080/api/oauth/token", "shop", secret)
        async with Client("localhost:9090", metadata=access) as client:
            print(await client.account())

    A token is used for every stream that is opened until shortly before it expires. One object
    may serve any number of clients and members.
    """

    def __init__(
        self,
        url: str,
        client_id: str,
        client_secret: str,
        *,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """Prepare; nothing is asked yet.

        Args:
            url: the token endpoint.
            client_id: who asks.
            client_secret: what only the client and the server know.
            tls: which authorities to trust where the address is `https`; None for those of the
                system.

        """
        self._url = url
        pair = base64.b64encode(f"{client_id}:{client_secret}".encode()).decode()
        self._headers = {"authorization": f"Basic {pair}"}
        self._tls = tls
        self._token = ""
        self._good_until = 0.0
        self._asking = asyncio.Lock()

    async def __call__(self) -> Mapping[str, str]:
        """Return the metadata with a token that has not expired.

        Raises:
            Unauthorized: the server does not accept the id and the secret.
            ConnectionLost: there is no answer, or none that helps; it is worth another try.

        """
        async with self._asking:
            if time.monotonic() >= self._good_until:
                asked = time.monotonic()
                granted = await asyncio.to_thread(self._ask)
                life = float(granted["expires_in"])
                self._token = granted["access_token"]
                self._good_until = asked + life - min(_MARGIN, life * _MARGIN_PART)
            return {"authorization": f"Bearer {self._token}"}

    def _ask(self) -> dict[str, Any]:
        asked = urllib.request.Request(self._url, b"grant_type=client_credentials", self._headers)
        try:
            with urllib.request.urlopen(asked, timeout=_TIMEOUT, context=self._tls) as answer:
                granted: dict[str, Any] = json.load(answer)
        except urllib.error.HTTPError as error:
            error.close()
            if error.code in _REFUSED:
                raise errors.Unauthorized(
                    f"{self._url} refuses these credentials with status {error.code}"
                ) from None
            raise errors.ConnectionLost(
                f"{self._url} answers with status {error.code}", retryable=True
            ) from None
        except OSError as error:
            raise errors.ConnectionLost(
                f"no answer from {self._url}: {error}", retryable=True
            ) from None
        if not {"access_token", "expires_in"} <= set(granted):
            raise errors.ConnectionLost(f"{self._url} does not answer with a token", retryable=True)
        return granted
