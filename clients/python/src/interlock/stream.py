"""One `startStreaming` call: any number of requests, and their answers as they come.

One task reads, one writes, and they never wait for each other. What is kept in memory is bounded:

* Requests: a `Lane` has so many places for requests that are unanswered; further ones wait in
  `ask`. Most requests are in the stream's own lane. Those in a transaction that a calculation
  belongs to are in the calculation's: the others may be waiting for just that calculation.
* Answers: once `UNREAD_BYTES_MAX` of them lie unread, the reader stops, and with it, by HTTP/2
  flow control, the server. That holds up everything on the stream, so after `STALL_SECONDS` in
  which nobody has read any, the largest unread answer is given up with `AnswerNotRead`. Only in
  the transaction of a calculation can that happen: other streamed answers have calls of their own.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar

import grpc

from interlock import errors, events, tracing
from interlock.api.cloudevents_pb2 import CloudEvent
from interlock.api.codes import CODES
from interlock.version import VERSION, is_understood, understood

UNREAD_BYTES_MAX = 64 << 20
"""How many bytes of answers may be unread before the stream is no longer read."""

STALL_SECONDS = 10.0
"""How long that may last; less than the server's patience with a slow reader, 30 s."""

# What a server does not change its mind about; other ends of a stream are worth another try.
_LASTING: dict[grpc.StatusCode, str] = {
    grpc.StatusCode.UNAUTHENTICATED: "UNAUTHORIZED",
    grpc.StatusCode.PERMISSION_DENIED: "FORBIDDEN",
    grpc.StatusCode.INVALID_ARGUMENT: "BAD_REQUEST",
    grpc.StatusCode.UNIMPLEMENTED: "NOT_IMPLEMENTED",
}

T = TypeVar("T")


class Lane:
    """Requests that wait for each other's places, and the transaction they all join, if any."""

    def __init__(self, places: int, *, token: str | None = None) -> None:
        self.places = asyncio.Semaphore(places)
        self.token = token


def check_version(metadata: Any) -> None:
    """Refuse a server of a version that this client does not understand.

    One that does not say its version is accepted.

    Raises:
        ServerNotUnderstood: it is of such a version.

    """
    version = metadata.get("interlock-version") if metadata else None
    if version and not is_understood(version):
        raise errors.ServerNotUnderstood(
            f"the server is of version {version}; this client understands {understood(VERSION)}"
        )


def check_size(event: CloudEvent, bytes_max: int) -> None:
    """Refuse an event for which the server would end the call.

    Raises:
        MessageTooLarge: it is larger than the server accepts.

    """
    size = event.ByteSize()
    if size > bytes_max:
        raise errors.MessageTooLarge(f"the {event.type} has {size} bytes; {bytes_max} are allowed")


class Stream:
    """An open stream; `serve` has to run for anything to happen on it."""

    def __init__(
        self,
        call: grpc.aio.StreamStreamCall[CloudEvent, CloudEvent],
        *,
        in_flight: int,
        message_bytes_max: int,
        receive: Callable[[Stream, CloudEvent], None],
    ) -> None:
        """Wrap a call that was just made; `receive` is given every event that answers nothing."""
        self._call = call
        self._message_bytes_max = message_bytes_max
        self._receive = receive
        self._lane = Lane(in_flight)
        self._outbox: asyncio.Queue[CloudEvent | None] = asyncio.Queue()
        self._asked: dict[str, Answer] = {}
        self._unread: dict[Answer, int] = {}
        self._unread_bytes = 0
        self._was_read = asyncio.Event()
        self._ended = asyncio.Event()
        self.failure: errors.InterlockError | None = None
        """Why the stream ended, once it has."""

    async def serve(self) -> None:
        """Read and write until the stream ends, for whatever reason."""
        writing = asyncio.create_task(self._write())
        ended: errors.InterlockError = errors.ConnectionLost("the stream was closed")
        try:
            async for event in self._call:
                self._take(event)
                if self._unread_bytes > UNREAD_BYTES_MAX:
                    await self._wait_for_readers()
        except grpc.aio.AioRpcError as error:
            ended = failure(error)
        finally:
            writing.cancel()
            self._call.cancel()
            self._end(ended)

    async def opened(self) -> None:
        """Wait until the server has accepted the stream.

        Raises:
            InterlockError: it has not.

        """
        await self._call.initial_metadata()
        if self._call.done():
            await self._ended.wait()
        if self.failure is not None:
            raise self.failure

    async def check_version(self) -> None:
        """Refuse a server of a version that this client does not understand.

        Raises:
            ServerNotUnderstood: it is of such a version.

        """
        check_version(await self._call.initial_metadata())

    async def ended(self) -> None:
        """Wait until the stream has ended."""
        await self._ended.wait()

    async def first(self, future: asyncio.Future[T]) -> T:
        """Wait for a future, but not longer than the stream lasts.

        Raises:
            InterlockError: the stream has ended.

        """
        ended = asyncio.create_task(self._ended.wait())
        try:
            await asyncio.wait((future, ended), return_when=asyncio.FIRST_COMPLETED)
        finally:
            ended.cancel()
        if self.failure is not None:
            future.cancel()
            raise self.failure
        return future.result()

    async def ask(
        self,
        kind: str,
        payload: Mapping[str, Any],
        lane: Lane | None = None,
        *,
        key: str | None = None,
    ) -> Answer:
        """Send a request once there is a place for it; the answer is to be used as a context.

        Raises:
            ConnectionLost: the stream has ended; the request was not sent.
            MessageTooLarge: it was not sent either.

        """
        lane = lane or self._lane
        event = events.event(kind, payload, token=lane.token, key=key)
        tracing.carry(event)
        self.check_size(event)
        await lane.places.acquire()
        answer = Answer(self, event.id, lane)
        if self.failure is not None:
            lane.places.release()
            raise _unsent(lost(self.failure))
        self._asked[event.id] = answer
        self._outbox.put_nowait(event)
        return answer

    def send(self, event: CloudEvent) -> None:
        """Send an event that is not answered; on a stream that has ended it is lost."""
        self._outbox.put_nowait(event)

    def check_size(self, event: CloudEvent) -> None:
        """Refuse an event for which the server would end the stream.

        Raises:
            MessageTooLarge: it is larger than the server accepts.

        """
        check_size(event, self._message_bytes_max)

    async def close(self, timeout: float) -> None:
        """Say that nothing more will be sent; wait for the answers to what was."""
        self._outbox.put_nowait(None)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                await self._ended.wait()

    async def _write(self) -> None:
        # The reader learns how a stream ended; what cannot be written any more is lost with it.
        with contextlib.suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):
            while (event := await self._outbox.get()) is not None:
                if (answer := self._asked.get(event.id)) is not None:
                    answer.was_sent = True
                await self._call.write(event)
            await self._call.done_writing()

    def _take(self, event: CloudEvent) -> None:
        request = events.attribute(event, events.REQUEST_ID)
        if request is None:
            self._receive(self, event)
        elif (answer := self._asked.get(request)) is not None:
            is_last = events.SEQUENCE not in event.attributes
            if is_last:
                del self._asked[request]
                answer.lane.places.release()
            answer.put(event, is_last=is_last)

    async def _wait_for_readers(self) -> None:
        while self._unread_bytes > UNREAD_BYTES_MAX:
            self._was_read.clear()
            try:
                async with asyncio.timeout(STALL_SECONDS):
                    await self._was_read.wait()
            except TimeoutError:
                largest = max(self._unread, key=lambda answer: self._unread[answer])
                largest.fail(errors.AnswerNotRead(f"it was not read for {STALL_SECONDS:g} s"))

    def lies_unread(self, answer: Answer, size: int) -> None:
        """Take note that so many more bytes of an answer lie unread, or fewer."""
        self._unread_bytes += size
        self._unread[answer] = self._unread.get(answer, 0) + size
        if self._unread[answer] == 0:
            del self._unread[answer]
        if size < 0:
            self._was_read.set()

    def cancel(self, answer: Answer) -> None:
        """Cancel a request on the server.

        It is still answered, and has its place until then.
        """
        if answer.identifier in self._asked:
            self.send(events.event(events.CANCEL, {"requestId": answer.identifier}))

    def _end(self, failure: errors.InterlockError) -> None:
        self.failure = failure
        self._ended.set()
        asked, self._asked = self._asked, {}
        failure = lost(failure)
        for answer in asked.values():
            answer.lane.places.release()
            answer.fail(failure if answer.was_sent else _unsent(failure))


class Answer:
    """The events that answer one request, in their order.

    A context: leaving it before the answer is complete cancels the request.
    """

    def __init__(self, stream: Stream, identifier: str, lane: Lane) -> None:
        self.identifier = identifier
        """The envelope id of the request."""
        self.lane = lane
        self.was_sent = False
        self._stream = stream
        self._events: deque[CloudEvent] = deque()
        self._arrived = asyncio.Event()
        self._is_complete = False
        self._is_left = False
        self._failure: errors.InterlockError | None = None

    async def next(self) -> CloudEvent | None:
        """Wait for the next event; None after the last.

        Raises:
            ConnectionLost: the stream ended before the answer did.
            AnswerNotRead: the answer was dropped.

        """
        while not self._events:
            if self._failure is not None:
                raise self._failure
            if self._is_complete:
                return None
            self._arrived.clear()
            await self._arrived.wait()
        event = self._events.popleft()
        self._stream.lies_unread(self, -event.ByteSize())
        return event

    def put(self, event: CloudEvent, *, is_last: bool) -> None:
        """Add an event that came."""
        self._is_complete |= is_last
        if not self._is_left:
            self._events.append(event)
            self._stream.lies_unread(self, event.ByteSize())
            self._arrived.set()

    def fail(self, failure: errors.InterlockError) -> None:
        """End the answer; unread events are dropped."""
        self._failure = failure
        self._leave()
        self._arrived.set()

    def _leave(self) -> None:
        self._is_left = True
        unread = sum(event.ByteSize() for event in self._events)
        self._events.clear()
        if unread:
            self._stream.lies_unread(self, -unread)
        if not self._is_complete:
            self._stream.cancel(self)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._leave()


def failure(error: grpc.aio.AioRpcError) -> errors.InterlockError:
    """Say what it means that a call has ended."""
    code, details = error.code(), error.details() or "the server gave no reason"
    if code in _LASTING:
        return errors.with_code(_LASTING[code], details)
    return errors.ConnectionLost(f"{code.name}: {details}")


def failure_of_answer(error: grpc.aio.AioRpcError) -> errors.InterlockError:
    """Say what it means that a streamed answer has failed on the way.

    Then the status has the failure as its text; its code is the first word, as in any failure.
    """
    code, _, message = (error.details() or "").partition(": ")
    if (known := CODES.get(code)) is None:
        return failure(error)
    return errors.with_code(code, message, retryable=known.retryable)


def lost(failure: errors.InterlockError) -> errors.InterlockError:
    """Say what the end of an accepted call means for what was asked on it.

    That the server has revoked the token of the call says nothing about the next call, for which
    there may be another.
    """
    if not isinstance(failure, errors.Unauthorized):
        return failure
    return errors.ConnectionLost(failure.message)


def _unsent(failure: errors.InterlockError) -> errors.InterlockError:
    if not isinstance(failure, errors.ConnectionLost):
        return failure
    return errors.ConnectionLost(f"{failure.message}; the request was not sent", retryable=True)
