"""Access tokens by the client credentials grant, obtained again when they are about to expire."""

from __future__ import annotations

import asyncio
import base64
import concurrent.futures
import http.client
import json
import math
import re
import ssl
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from interlock import errors

_TIMEOUT = 10.0

# A token is replaced this long before it expires, or after nine tenths of its life.
_MARGIN = 30.0
_MARGIN_PART = 0.1

# Of a token whose endpoint does not say how long it lives, in seconds.
_LIFE = 300.0

_ANSWER_BYTES_MAX = 1 << 20

_AUTHORIZATION = "authorization"

T = TypeVar("T")

# With what, and an error of OAuth, a token endpoint says that credentials are not accepted.
_REFUSED = (400, 401, 403)


class ClientCredentials:
    """Makes the metadata of streams out of a client id and its secret.

        access = ClientCredentials("http://localhost:8080/api/oauth/token", "shop", secret)
        async with Client("localhost:9090", metadata=access) as client:
            print(await client.account())

    A token is used for every stream that is opened until shortly before it expires, or until a
    server refuses it. One object may serve any number of clients and members.
    """

    def __init__(
        self,
        url: str,
        client_id: str,
        client_secret: str,
        *,
        tls: ssl.SSLContext | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> None:
        """Prepare; nothing is asked yet.

        Args:
            url: the token endpoint.
            client_id: who asks.
            client_secret: what only the client and the server know.
            tls: which authorities to trust where the address is `https`, None for those of the
                system; and the certificate of the client, for servers that require one
                (`load_cert_chain`).
            metadata: what is sent besides the token when a stream is opened.

        """
        self._url = url
        self._besides = dict(metadata or {})
        pair = base64.b64encode(f"{client_id}:{client_secret}".encode()).decode()
        self._headers = {"authorization": f"Basic {pair}"}
        self._tls = tls
        self._token = ""
        self._good_until = 0.0
        self._asking = asyncio.Lock()

    async def __call__(self) -> Mapping[str, str]:
        """Return the metadata with a token that has not expired.

        Raises:
            Unauthorized: the endpoint does not accept the id and the secret.
            InvalidOptions: there is no token endpoint at the address.
            ConnectionLost: there is no answer, or none that helps; it is worth another try.

        """
        async with self._asking:
            if time.monotonic() >= self._good_until:
                asked = time.monotonic()
                token, life = await _in_a_thread(self._ask)
                self._token = token
                self._good_until = asked + life - min(_MARGIN, life * _MARGIN_PART)
            return {**self._besides, _AUTHORIZATION: _bearer(self._token)}

    def refused(self, metadata: Mapping[str, str]) -> None:
        """Forget a token that a server has refused: the next metadata has another one."""
        if metadata.get(_AUTHORIZATION) == _bearer(self._token):
            self._good_until = 0.0

    def _ask(self) -> tuple[str, float]:
        """Obtain a token, and how many seconds it lives."""
        try:
            asked = urllib.request.Request(
                self._url, b"grant_type=client_credentials", self._headers
            )
        except ValueError as error:
            raise errors.InvalidOptions(f"{self._url} is no address: {error}") from None
        try:
            with urllib.request.urlopen(asked, timeout=_TIMEOUT, context=self._tls) as answer:
                return _granted(json.loads(answer.read(_ANSWER_BYTES_MAX)))
        except urllib.error.HTTPError as error:
            with error:
                raise self._refusal(error) from None
        # A cut body, a status line that is none, or an answer that is no token: somebody else
        # answers in place of the endpoint, or it has died meanwhile.
        except (OSError, http.client.HTTPException) as error:
            raise errors.ConnectionLost(
                f"no answer from {self._url}: {error!r}", retryable=True
            ) from None
        except (ValueError, RecursionError):
            raise errors.ConnectionLost(
                f"{self._url} does not answer with a token", retryable=True
            ) from None

    def _refusal(self, error: urllib.error.HTTPError) -> errors.InterlockError:
        """Say what it means that the endpoint has answered with a status that is no success.

        Only what the endpoint itself says is final: anything else may come from a proxy, and pass.
        """
        said = f"{self._url} answers with status {error.code}"
        answer = _object(error)
        # A server answers so whatever the path is, unless it is that of its token endpoint.
        properties = answer.get("properties")
        is_elsewhere = (
            error.code == 401
            and isinstance(properties, dict)
            and properties.get("errorCode") == "UNAUTHORIZED"
        )
        if error.code == 404 or is_elsewhere:
            return errors.InvalidOptions(f"{said}: there is no token endpoint; check the address")
        if error.code in _REFUSED and (reason := _reason(answer)):
            return errors.Unauthorized(f"{self._url} refuses these credentials: {reason}")
        return errors.ConnectionLost(said, retryable=True)


async def _in_a_thread(ask: Callable[[], T]) -> T:
    """Wait for a function in a thread that does not delay the end of the program."""
    loop = asyncio.get_running_loop()
    asked: concurrent.futures.Future[T] = concurrent.futures.Future()

    def run() -> None:
        # One that runs is not cancelled: nobody is interested in its result then.
        asked.set_running_or_notify_cancel()
        try:
            asked.set_result(ask())
        except Exception as error:
            asked.set_exception(error)

    threading.Thread(target=run, name="interlock-token", daemon=True).start()
    return await asyncio.wrap_future(asked, loop=loop)


def _bearer(token: str) -> str:
    return f"Bearer {token}"


def _granted(answer: Any) -> tuple[str, float]:
    """Return the token of an answer, and how many seconds it lives.

    Raises:
        ValueError: it has none that can be sent.

    """
    if not isinstance(answer, dict):
        raise ValueError("not an object")
    token = answer.get("access_token")
    if not isinstance(token, str) or not re.fullmatch("[!-~]+", token):
        raise ValueError("no token")
    return token, _life(answer.get("expires_in"))


def _life(given: Any) -> float:
    """Return how many seconds a token lives; some endpoints write that as a text."""
    try:
        life = float(given)
    except (TypeError, ValueError, OverflowError):
        return _LIFE
    return life if 0 <= life < math.inf else _LIFE


def _object(error: urllib.error.HTTPError) -> dict[str, Any]:
    """Return the object that is the answer; an empty one if it is none."""
    try:
        answer = json.loads(error.read(_ANSWER_BYTES_MAX))
    except Exception:
        # It is refused, whatever the answer is.
        return {}
    return answer if isinstance(answer, dict) else {}


def _reason(answer: Mapping[str, Any]) -> str:
    """Return the code of OAuth that the endpoint gives as the reason; empty if it gives none."""
    code = answer.get("error")
    return code if isinstance(code, str) and re.fullmatch("[a-z_]{1,64}", code) else ""
