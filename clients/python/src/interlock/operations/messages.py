"""Messages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from interlock.api.requester import given
from interlock.operations.requests import Requests
from interlock.records import Message

if TYPE_CHECKING:
    from interlock.api.payloads import Header, MessageCreateRequest


class Messages(Requests):
    """Messages."""

    async def create_message(
        self,
        subject: str,
        content: Any,
        *,
        metadata: Mapping[str, Any] | None = None,
        content_type: str | None = None,
        message_id: str | None = None,
        user_id: str | None = None,
        recipient: str | None = None,
        reply_to: str | None = None,
        correlation_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> str:
        """Store a message; return the id by which it can be read.

        The content is anything that JSON can say; what else is known of the message is kept
        beside it.
        """
        header: Header = {
            "subject": subject,
            "contentType": content_type,
            "messageId": message_id,
            "userId": user_id,
            "recipient": recipient,
            "replyTo": reply_to,
            "correlationId": correlation_id,
        }
        header = given(header)
        request: MessageCreateRequest = {"header": header, "payload": content}
        if metadata is not None:
            request["metaData"] = metadata
        answer = await self.api.message_create(request, idempotency_key=idempotency_key)
        return answer["entityIds"][0]

    async def get_message(self, message_id: str) -> Message:
        """Read a message.

        Raises:
            EntityNotFound: there is none.

        """
        return Message.read(await self.api.message_get({"messageId": message_id}))

    async def delete_message(self, message_id: str, *, idempotency_key: str | None = None) -> None:
        """Delete a message.

        Raises:
            EntityNotFound: there is none.

        """
        await self.api.message_delete({"messageId": message_id}, idempotency_key=idempotency_key)

    async def delete_messages(
        self, message_ids: Iterable[str], *, idempotency_key: str | None = None
    ) -> None:
        """Delete messages; those that are not there are no error."""
        await self.api.message_delete(
            {"messageIds": list(message_ids)}, idempotency_key=idempotency_key
        )
