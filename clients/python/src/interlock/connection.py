"""The connection to a server: at most one open stream, and another one when that is lost."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from typing import Any

import grpc

from interlock import answers, errors, events, tracing
from interlock.ahead import Ahead
from interlock.api.cloudevents_pb2 import CloudEvent
from interlock.credentials import ClientCredentials
from interlock.stream import (
    Answer,
    Stream,
    check_size,
    check_version,
    failure,
    failure_of_answer,
    lost,
)

Metadata = Mapping[str, str] | Callable[[], Awaitable[Mapping[str, str]]]
"""Metadata sent when a stream is opened, or a function that makes it each time."""

Meaning = Callable[[grpc.aio.AioRpcError], errors.InterlockError]
"""Says what it means that a call has ended."""

IN_FLIGHT = 256
"""How many requests of one stream a server accepts in flight, by default."""

MESSAGE_BYTES_MAX = 16 << 20
"""The largest message that a server accepts, by default."""

CONNECT_TIMEOUT = 10.0
"""How long a request waits for a connection, in seconds."""

GREETING_TIMEOUT = 10.0
"""How long a server may take to accept a stream, in seconds."""

CLOSE_TIMEOUT = 10.0
"""How long closing waits for outstanding answers, in seconds."""

_METHOD = "/org.cyoda.cloud.api.grpc.CloudEventsService/startStreaming"
_SEPARATE = "/org.cyoda.cloud.api.grpc.CloudEventsService/entitySearchCollection"

# Between two attempts to open a stream, in seconds: doubling, and never quite the same.
_FIRST_DELAY = 0.1
_LONGEST_DELAY = 5.0

_CHANNEL_OPTIONS = (
    # gRPC reconnects the channel with its own delays; they are kept below ours.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1_000),
    # In spite of its name: how long one attempt may take.
    ("grpc.min_reconnect_backoff_ms", 5_000),
    # A peer that vanished is noticed within 30 s. Servers tolerate a ping every 10 s.
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    # Otherwise gRPC waits a minute for the answer to a ping, whatever the line above says.
    ("grpc.http2.ping_timeout_ms", 10_000),
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
)

log = logging.getLogger("interlock")


def at_least_one(name: str, value: int) -> None:
    """Check how many of something there may be.

    Raises:
        InvalidOptions: there may be none.

    """
    if value < 1:
        raise errors.InvalidOptions(f"{name} is {value}; use 1 or more")


_RESOLVERS = ("dns:", "ipv4:", "ipv6:", "unix:", "unix-abstract:", "vsock:", "xds:")


def _check_target(target: str) -> None:
    if target.startswith(("http://", "https://")):
        raise errors.InvalidOptions(
            f"{target} is a URL; the target is host:port of the gRPC port, such as"
            " localhost:9090, and TLS is enabled by `credentials`"
        )
    # The resolvers of gRPC have names of their own, such as unix:/run/interlock or dns:///host:1.
    if target.startswith(_RESOLVERS):
        return
    host, _, port = target.rpartition(":")
    has_port = port.isascii() and port.isdigit() and 0 < int(port) < 1 << 16
    if not host or not has_port or (":" in host and not host.startswith("[")):
        raise errors.InvalidOptions(
            f"{target!r} is not host:port of the gRPC port, such as localhost:9090 or [::1]:9090"
        )


class Connection:
    """Opens streams to one server, one after the other."""

    def __init__(
        self,
        target: str,
        *,
        metadata: Metadata | None = None,
        credentials: grpc.ChannelCredentials | None = None,
        in_flight: int = IN_FLIGHT,
        message_bytes_max: int = MESSAGE_BYTES_MAX,
        connect_timeout: float = CONNECT_TIMEOUT,
        greet: Callable[[Stream], Awaitable[None]] = Stream.opened,
        receive: Callable[[Stream, CloudEvent], None] = lambda _stream, _event: None,
    ) -> None:
        """Prepare; nothing is connected yet.

        `greet` makes a new stream ready for use, and `receive` is given every event on one that
        answers no request.

        Raises:
            InvalidOptions: the target is not `host:port`, or `in_flight` is not at least 1.

        """
        _check_target(target)
        at_least_one("in_flight", in_flight)
        self.target = target
        self._metadata = metadata or {}
        self._credentials = credentials
        self._in_flight = in_flight
        self._message_bytes_max = message_bytes_max
        self._connect_timeout = connect_timeout
        self._greet = greet
        self._receive = receive
        self._ahead = Ahead()
        self._channel: grpc.aio.Channel | None = None
        self._stream: Stream | None = None
        self._serving: asyncio.Task[None] | None = None
        self._opening = asyncio.Lock()
        self._delay = 0.0
        self._not_before = 0.0
        self._lost: errors.ConnectionLost | None = None
        """Why there is no stream, as far as it is known."""
        self._is_closed = False

    async def ask(self, kind: str, payload: Mapping[str, Any], *, key: str | None = None) -> Answer:
        """Send a request on the open stream, or on a new one.

        Raises:
            ConnectionLost: there is no connection within the connect timeout.

        """
        stream = await self.stream()
        return await stream.ask(kind, payload, key=key)

    def ask_streamed(
        self, kind: str, payload: Mapping[str, Any]
    ) -> AsyncGenerator[CloudEvent, None]:
        """Send a request with a streamed answer, on a separate call.

        So reading it slowly delays nothing else. It is read ahead, until the server has to wait.

        Raises:
            ClientClosed: the client was closed.
            ConnectionLost: there is no connection within the connect timeout, or it has ended.
            InterlockError: the server refuses the request, or fails to answer it.

        """
        return self._ahead.read(self._ask_separately(kind, payload, failure_of_answer))

    def listen(self, kind: str, payload: Mapping[str, Any]) -> AsyncGenerator[CloudEvent, None]:
        """Send a request with an endless answer, on a separate call.

        Whatever ends the answer is a lost connection: a feed resumes.

        Raises:
            ClientClosed: the client was closed.
            ConnectionLost: there is no connection within the connect timeout, or it has ended.
            InterlockError: the server refuses the request.

        """
        return self._ask_separately(kind, payload, failure)

    async def _ask_separately(
        self, kind: str, payload: Mapping[str, Any], meaning: Meaning
    ) -> AsyncGenerator[CloudEvent, None]:
        if self._is_closed:
            raise errors.ClientClosed("the client is closed")
        request = events.event(kind, payload)
        tracing.carry(request)
        check_size(request, self._message_bytes_max)
        await self.connect()
        is_again = False
        while True:
            made = await self._made()
            try:
                async with aclosing(self._answers(request, made, meaning)) as came:
                    async for event in came:
                        yield event
                return
            except errors.Unauthorized:
                if not self._forget(made) or is_again:
                    raise
                is_again = True

    async def _answers(
        self, request: CloudEvent, made: Mapping[str, str], meaning: Meaning
    ) -> AsyncGenerator[CloudEvent, None]:
        method: grpc.aio.UnaryStreamMultiCallable[CloudEvent, CloudEvent] = (
            self._connected_channel().unary_stream(
                _SEPARATE,
                request_serializer=CloudEvent.SerializeToString,
                response_deserializer=CloudEvent.FromString,
            )
        )
        call = method(request, metadata=tuple(made.items()))
        try:
            # One that is refused has ended; the loop says why.
            check_version(await call.initial_metadata())
            async for event in call:
                yield event
        except grpc.aio.AioRpcError as error:
            ended = meaning(error)
            # Only what is refused at once comes without metadata. Later the token was revoked:
            # the same request would have the answer begin again, so a caller that resumes asks for
            # the rest, with another token.
            if isinstance(ended, errors.Unauthorized) and await call.initial_metadata():
                ended = lost(ended) if self._forget(made) else ended
            raise ended from None
        except asyncio.CancelledError as error:
            # Closing the channel cancels its calls, and those who wait for them.
            if self._is_closed and not answers.is_given_up(error):
                raise errors.ClientClosed("the client was closed") from None
            raise
        finally:
            call.cancel()

    async def connect(self) -> None:
        """Wait until the server can be reached.

        No stream is opened: a server ends silent ones.

        Raises:
            ConnectionLost: there is no connection within the connect timeout.

        """
        try:
            async with asyncio.timeout(self._connect_timeout):
                await self._connected_channel().channel_ready()
        except TimeoutError:
            await self._learn_why()
            raise self._unreachable() from None

    async def _learn_why(self) -> None:
        """Take note of why the server cannot be reached; only a call is told, as it fails."""
        channel = self._connected_channel()
        if channel.get_state() is not grpc.ChannelConnectivity.TRANSIENT_FAILURE:
            return
        try:
            method: grpc.aio.UnaryStreamMultiCallable[CloudEvent, CloudEvent] = (
                channel.unary_stream(_SEPARATE, request_serializer=CloudEvent.SerializeToString)
            )
            await method(CloudEvent(), timeout=0.2).read()
        except grpc.aio.AioRpcError as error:
            unreachable = failure(error)
            if error.code() is grpc.StatusCode.UNAVAILABLE and isinstance(
                unreachable, errors.ConnectionLost
            ):
                self._lost = unreachable

    async def stream(self) -> Stream:
        """Return the open stream, or open one.

        Raises:
            ConnectionLost: there is none within the connect timeout.
            InterlockError: the server refuses this caller; trying again would not help.

        """
        if self._stream is not None and self._stream.failure is None:
            return self._stream
        try:
            async with asyncio.timeout(self._connect_timeout):
                return await self.stream_eventually()
        except TimeoutError:
            raise self._unreachable() from None

    async def stream_eventually(self) -> Stream:
        """Return the open stream, or open one, however long that takes.

        Raises:
            InterlockError: the server refuses this caller; trying again would not help.

        """
        async with self._opening:
            return await self._open_in_the_end()

    async def close(self) -> None:
        """Wait for outstanding answers on the stream, then end it and all other calls."""
        self._is_closed = True
        if self._stream is not None:
            await self._stream.close(CLOSE_TIMEOUT)
        if self._serving is not None:
            self._serving.cancel()
            await asyncio.gather(self._serving, return_exceptions=True)
        if self._channel is not None:
            await self._channel.close()

    async def _open_in_the_end(self) -> Stream:
        while True:
            if self._is_closed:
                raise errors.ClientClosed("the client is closed")
            if self._stream is not None and self._stream.failure is None:
                return self._stream
            # Of a pause that is longer than a caller waits, the next one waits for the rest only.
            await asyncio.sleep(self._not_before - asyncio.get_running_loop().time())
            try:
                self._stream = await self._open()
            except errors.ConnectionLost as failed:
                self._postpone()
                self._lost = failed
                log.warning(
                    "no stream to %s: %s; retrying",
                    self.target,
                    failed.message,
                    extra={"target": self.target, "code": failed.code},
                )
            except errors.InterlockError:
                self._postpone()
                raise
            else:
                self._postpone()
                self._lost = None

    def _postpone(self) -> None:
        """Have the next attempt wait: longer than this one did, and never quite as long."""
        self._delay = min(_LONGEST_DELAY, max(_FIRST_DELAY, 2 * self._delay))
        pause = random.uniform(self._delay / 2, self._delay)
        self._not_before = asyncio.get_running_loop().time() + pause

    async def _made(self) -> Mapping[str, str]:
        return await self._metadata() if callable(self._metadata) else self._metadata

    def _forget(self, made: Mapping[str, str]) -> bool:
        """Have metadata that the server has refused made anew; whether that can help."""
        if not isinstance(self._metadata, ClientCredentials):
            return False
        self._metadata.refused(made)
        return True

    async def _open(self) -> Stream:
        """Open a stream; a token that is refused is replaced once."""
        made = await self._made()
        try:
            return await self._open_with(made)
        except errors.Unauthorized:
            if not self._forget(made):
                raise
        return await self._open_with(await self._made())

    async def _open_with(self, made: Mapping[str, str]) -> Stream:
        method: grpc.aio.StreamStreamMultiCallable[CloudEvent, CloudEvent] = (
            self._connected_channel().stream_stream(
                _METHOD,
                request_serializer=CloudEvent.SerializeToString,
                response_deserializer=CloudEvent.FromString,
            )
        )
        stream = Stream(
            method(metadata=tuple(made.items())),
            in_flight=self._in_flight,
            message_bytes_max=self._message_bytes_max,
            receive=self._receive,
        )
        serving = asyncio.create_task(self._serve(stream))
        try:
            async with asyncio.timeout(GREETING_TIMEOUT):
                await self._greet(stream)
                await stream.check_version()
        except BaseException as error:
            serving.cancel()
            if isinstance(error, TimeoutError):
                raise errors.ConnectionLost("the server does not answer") from None
            raise
        self._serving = serving
        return stream

    async def _serve(self, stream: Stream) -> None:
        loop = asyncio.get_running_loop()
        begun = loop.time()
        await stream.serve()
        # A stream that ends as soon as it is opened is no reason to hurry.
        if loop.time() - begun > _LONGEST_DELAY:
            self._delay = self._not_before = 0.0
        if stream is self._stream and not self._is_closed:
            log.warning(
                "the stream to %s has ended: %s",
                self.target,
                stream.failure,
                extra={"target": self.target},
            )

    def _connected_channel(self) -> grpc.aio.Channel:
        # Made late, because it belongs to the event loop that is running.
        if self._channel is None:
            options = _CHANNEL_OPTIONS
            if self._credentials is None:
                self._channel = grpc.aio.insecure_channel(self.target, options)
            else:
                self._channel = grpc.aio.secure_channel(self.target, self._credentials, options)
        return self._channel

    def _unreachable(self) -> errors.ConnectionLost:
        because = f": {self._lost.message}" if self._lost is not None else ""
        # gRPC says what happened at the last address of a name only. `localhost` has two, and where
        # a server listens on one of them, that the other refused hides what is wrong with TLS.
        or_tls = ", and that the certificates fit (GRPC_VERBOSITY=info logs what TLS refuses)"
        return errors.ConnectionLost(
            f"no answer from {self.target} within {self._connect_timeout:g} s{because};"
            " check that a server runs there, and that this is its gRPC port"
            + (or_tls if self._credentials is not None else ""),
            retryable=True,
        )
