"""Endless answers, by the subscriptions of the client that resume by themselves."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from interlock import Complete, Entity, FeedChange, Operations


async def items(
    operations: Operations, kind: str, payload: dict[str, Any]
) -> AsyncGenerator[dict[str, Any], None]:
    """Follow what a request asks for.

    Raises:
        ValueError: there is no subscription for requests of this type.

    """
    match kind:
        case "EntityChangesSubscribeRequest":
            feed = _changes(operations, payload)
        case "EntitySearchSubscribeRequest":
            feed = _live_search(operations, payload)
        case "RunHistorySubscribeRequest":
            feed = _run_history(operations, payload)
        case _:
            raise ValueError(f"{kind} is not followed")
    async with aclosing(feed):
        async for item in feed:
            yield item


async def _changes(
    operations: Operations, payload: dict[str, Any]
) -> AsyncGenerator[dict[str, Any], None]:
    feed = operations.subscribe_changes(
        model=_model(payload),
        states=payload.get("states", ()),
        from_sequence=payload.get("fromSequence"),
        include_data=payload.get("includeData", False),
    )
    async with aclosing(feed):
        async for change in feed:
            yield _change(change)


async def _live_search(
    operations: Operations, payload: dict[str, Any]
) -> AsyncGenerator[dict[str, Any], None]:
    model = _model(payload)
    assert model is not None
    feed = operations.subscribe_search(
        model,
        payload["condition"],
        from_sequence=payload.get("fromSequence"),
        include_data=payload.get("includeData", False),
    )
    async with aclosing(feed):
        async for news in feed:
            match news:
                case Entity():
                    yield {
                        "change": "matches",
                        "entityId": news.id,
                        "state": news.state,
                        "data": news.data,
                    }
                case Complete():
                    yield {"change": "complete", "sequence": news.sequence}
                case _:
                    yield {"change": news.turn, **_change(news.change)}


async def _run_history(
    operations: Operations, payload: dict[str, Any]
) -> AsyncGenerator[dict[str, Any], None]:
    feed = operations.runs.follow(payload["runId"], from_sequence=payload.get("fromSequence"))
    async with aclosing(feed):
        async for event in feed:
            yield {"sequence": event.sequence, "eventType": event.event_type}


def _model(payload: dict[str, Any]) -> tuple[str, int] | None:
    model = payload.get("model")
    return (model["name"], model["version"]) if model else None


def _change(change: FeedChange) -> dict[str, Any]:
    return {
        "sequence": change.sequence,
        "entityId": change.entity_id,
        "changeType": change.kind,
        "state": change.state,
        "data": change.data,
    }
