"""A client: the operations of a server, over one stream."""

from __future__ import annotations

from types import TracebackType
from typing import Self

import grpc

from interlock.connection import (
    CONNECT_TIMEOUT,
    IN_FLIGHT,
    MESSAGE_BYTES_MAX,
    Connection,
    Metadata,
)
from interlock.operations import Operations


class Client(Operations):
    """All operations of a server over one multiplexed stream.

    Any number of tasks may use one client; their requests run concurrently, and answers arrive as
    they are ready. When the stream is lost, waiting requests raise `ConnectionLost`, and the next
    request opens another one.

        async with Client("localhost:9090") as client:
            print(await client.list_models())
    """

    def __init__(
        self,
        target: str = "localhost:9090",
        *,
        metadata: Metadata | None = None,
        credentials: grpc.ChannelCredentials | None = None,
        in_flight: int = IN_FLIGHT,
        message_bytes_max: int = MESSAGE_BYTES_MAX,
        connect_timeout: float = CONNECT_TIMEOUT,
    ) -> None:
        """Prepare; nothing is connected yet.

        Args:
            target: where the server's gRPC port is, as `host:port`.
            metadata: sent when a stream is opened, for instance `{"authorization": "Bearer …"}`;
                or a coroutine function that makes it, called for every stream.
            credentials: for TLS; None for a connection in the clear.
            in_flight: how many requests may be unanswered; further ones wait. The server works on
                256 requests of one stream at once.
            message_bytes_max: the largest request, in bytes, that is sent at all. A server ends
                the whole stream for one that is too large for it.
            connect_timeout: how long a request waits for a connection, in seconds.

        Raises:
            InvalidOptions: the target is not `host:port`, or `in_flight` is not at least 1.

        """
        self._connection = Connection(
            target,
            metadata=metadata,
            credentials=credentials,
            in_flight=in_flight,
            message_bytes_max=message_bytes_max,
            connect_timeout=connect_timeout,
        )
        super().__init__(self._connection)

    async def close(self) -> None:
        """Wait for outstanding answers, for 10 s at most, then disconnect.

        Feeds and streamed answers that are still read end with `ClientClosed`.
        """
        await self._connection.close()

    async def __aenter__(self) -> Self:
        """Wait until the server can be reached.

        Raises:
            ConnectionLost: it cannot, within the connect timeout.

        """
        await self._connection.connect()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()
