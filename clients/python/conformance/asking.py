"""Requests in the form of the wire, sent with the operations of the client."""

from __future__ import annotations

from contextlib import aclosing
from typing import Any

from interlock import Entity, InterlockError, Operations


async def ask(
    operations: Operations, kind: str, payload: dict[str, Any], key: str | None
) -> dict[str, Any]:
    """Send a request with a single answer, by the typed operation where that loses nothing."""
    match kind, payload:
        case "EntityCreateRequest", {"payload": {"model": model, "data": data}}:
            name = (model["name"], model["version"])
            written = await operations.create(name, data, idempotency_key=key)
            return {
                "success": True,
                "warnings": list(written.warnings),
                "transactionInfo": {
                    "transactionId": written.transaction_id,
                    "entityIds": list(written.entity_ids),
                },
            }
        case "EntityGetRequest", {"entityId": entity_id, **others} if not others:
            return {"success": True, "payload": _entity(await operations.get(entity_id))}
        case "EntityTransitionRequest", _:
            taken = await operations.transition(
                payload["entityId"], payload["transition"], idempotency_key=key
            )
            return {
                "success": True,
                "warnings": list(taken.warnings),
                "availableTransitions": list(taken.available),
            }
    return await operations.call(kind, payload, idempotency_key=key)


async def collect(
    operations: Operations, kind: str, payload: dict[str, Any]
) -> list[dict[str, Any]]:
    """Send a request with a streamed answer, and read all of it."""
    async with aclosing(operations.stream(kind, payload)) as answers:
        return [answer async for answer in answers]


async def read_each(operations: Operations, payload: dict[str, Any]) -> int:
    """Search, and read each entity that is found; how many there are."""
    model = (payload["model"]["name"], payload["model"]["version"])
    found = operations.search(model, payload["condition"], limit=payload["limit"])
    read = 0
    async with aclosing(found):
        async for entity in found:
            await operations.get(entity.id)
            read += 1
    return read


def failure(error: BaseException) -> dict[str, Any]:
    """Return what the runner is to know of an error."""
    if isinstance(error, InterlockError):
        return {"code": error.code, "message": error.message, "retryable": error.retryable}
    if isinstance(error, TimeoutError):
        # The caller has given up; that cancels the request.
        return {"code": "CANCELLED", "message": "the deadline of the caller", "retryable": False}
    return {"code": "EXCEPTION", "message": repr(error), "retryable": False}


def _entity(entity: Entity) -> dict[str, Any]:
    return {
        "type": "JSON",
        "data": entity.data,
        "meta": {
            "id": entity.id,
            "modelKey": {"name": entity.model.name, "version": entity.model.version},
            "state": entity.state,
            "transactionId": entity.transaction_id,
        },
    }
