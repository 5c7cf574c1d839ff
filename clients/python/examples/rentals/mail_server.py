"""A mail server that keeps what it is sent, and refuses one domain."""

import asyncio
import contextlib
import email
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

NOWHERE = "nowhere.example"
"""The domain whose mailboxes do not exist."""


@dataclass(frozen=True)
class Mail:
    """A message that was accepted."""

    to: str
    subject: str
    message_id: str
    """The same if the message is sent again."""


@dataclass
class MailServer:
    """Where it listens, and what it was sent."""

    port: int = 0
    mails: list[Mail] = field(default_factory=list)

    async def _serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        """Talk with one client."""
        # Clients that are gone need no answer.
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            writer.write(b"220 films.example ESMTP\r\n")
            recipient = ""
            while line := (await reader.readline()).decode().strip():
                word = line.split(" ")[0].upper()
                if word == "RCPT":
                    recipient = line.partition("<")[2].partition(">")[0]
                    is_known = not recipient.endswith(f"@{NOWHERE}")
                    answer = "250 ok" if is_known else "550 no such mailbox"
                elif word == "DATA":
                    writer.write(b"354 go ahead\r\n")
                    text = await reader.readuntil(b"\r\n.\r\n")
                    message = email.message_from_bytes(text)
                    self.mails.append(Mail(recipient, message["Subject"], message["Message-ID"]))
                    answer = "250 queued"
                elif word == "QUIT":
                    writer.write(b"221 bye\r\n")
                    break
                else:
                    answer = "250 ok"
                writer.write(f"{answer}\r\n".encode())
                await writer.drain()
            await writer.drain()
        writer.close()


@asynccontextmanager
async def mail_server() -> AsyncIterator[MailServer]:
    """Run one."""
    server = MailServer()
    listening = await asyncio.start_server(server._serve, "127.0.0.1", 0)
    server.port = listening.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listening.close()
