"""CloudEvents: how a request is put into an envelope and what is read from one."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from interlock import documents, errors
from interlock.api.cloudevents_pb2 import CloudEvent

# Extension attributes.
REQUEST_ID = "requestid"
"""On an answer: the envelope id of its request."""
SEQUENCE = "sequence"
"""On all events of a streamed answer but the last."""
TIME_LIMIT = "timeoutms"
"""On a calculation: after how many milliseconds the server gives it up."""
TOKEN = "cyodatxtoken"
"""The open transaction that a request joins, or that a calculation belongs to."""

KEY = "idempotencykey"
"""The idempotency key of a request."""

# Types of the stream itself; those of the operations are in `interlock.operations`.
ACKNOWLEDGEMENT = "EventAckResponse"
CANCEL = "EventCancelRequest"
DRAIN = "WorkerDrainRequest"
GREETING = "CalculationMemberGreetEvent"
JOIN = "CalculationMemberJoinEvent"
KEEP_ALIVE = "CalculationMemberKeepAliveEvent"

_SOURCE = "interlock-python"
_SPECIFICATION = "1.0"


def event(
    kind: str, payload: Mapping[str, Any], *, token: str | None = None, key: str | None = None
) -> CloudEvent:
    """Put a payload into an envelope, both with the same new id."""
    identifier = str(uuid.uuid4())
    made = CloudEvent(
        id=identifier,
        source=_SOURCE,
        spec_version=_SPECIFICATION,
        type=kind,
        text_data=documents.encode({"id": identifier, **payload}),
    )
    if token is not None:
        made.attributes[TOKEN].ce_string = token
    if key is not None:
        made.attributes[KEY].ce_string = key
    return made


def payload(event: CloudEvent) -> dict[str, Any]:
    """Read the payload of an event.

    Raises:
        BadRequest: it is not a JSON object.

    """
    try:
        decoded = documents.decode(event.text_data or event.binary_data)
    except (ValueError, RecursionError) as error:
        raise errors.BadRequest(f"the data of a {event.type} is not JSON: {error}") from error
    if not isinstance(decoded, dict):
        raise errors.BadRequest(f"the data of a {event.type} is not an object")
    return decoded


def answer(event: CloudEvent) -> dict[str, Any]:
    """Read the payload of an answer.

    Raises:
        InterlockError: the answer is that it failed.

    """
    answered = payload(event)
    if answered.get("success") is False:
        raise errors.from_answer(answered.get("error"), answered.get("warnings") or ())
    return answered


def attribute(event: CloudEvent, name: str) -> str | None:
    """Read an extension attribute that is a text; None if it is absent or empty."""
    # Subscripting would add what is absent.
    return event.attributes[name].ce_string or None if name in event.attributes else None
