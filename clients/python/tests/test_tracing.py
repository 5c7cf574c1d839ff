"""Traces over the stream, with OpenTelemetry."""

import asyncio
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from scripts import Side, scripted
from test_protocol import CALL, Once

from interlock import Client, Context, Entity, Member, Rejected, events, tracing
from interlock.api.cloudevents_pb2 import CloudEvent

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
TRACE = 0x0AF7651916CD43DD8448EB211C80319C
CALLED = "EntityProcessorCalculationRequest"


@pytest.fixture(scope="module")
def exporter() -> InMemorySpanExporter:
    """What the spans of this process are given to; there can be one provider only."""
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    return exporter


def parent(event: CloudEvent) -> str:
    return event.attributes["traceparent"].ce_string


async def test_a_handler_and_its_requests_continue_the_trace_of_the_caller(
    exporter: InMemorySpanExporter,
) -> None:
    asked, answered = Once(), Once()

    async def script(server: Side) -> None:
        await server.greet()
        await server.write(CALLED, CALL, traceparent=PARENT, cyodatxtoken="t-1")
        request = await server.read()
        asked.tell(request)
        await server.write("AccountGetResponse", {"success": True}, requestid=request.id)
        answered.tell(await server.read())
        await server.read()

    async with scripted(script) as target:
        member = Member(target)

        @member.processor("price")
        async def price(_entity: Entity, context: Context) -> dict[str, Any]:
            await context.client.call("AccountGetRequest", {})
            raise Rejected("not today")

        async with member:
            request = await asked.reported()
            assert events.payload(await answered.reported())["success"] is False
    (span,) = exporter.get_finished_spans()
    assert (span.name, span.kind) == ("processor price", trace.SpanKind.SERVER)
    assert span.parent is not None
    assert span.context is not None
    assert (span.context.trace_id, span.parent.span_id) == (TRACE, 0xB7AD6B7169203331)
    assert not span.status.is_ok
    assert parent(request) == f"00-{TRACE:032x}-{span.context.span_id:016x}-01"
    exporter.clear()


async def test_a_request_carries_the_trace_it_is_made_in(exporter: InMemorySpanExporter) -> None:
    asked = Once()

    async def script(server: Side) -> None:
        request = await server.read()
        await server.write("AccountGetResponse", {"success": True}, requestid=request.id)
        asked.tell(request)
        await server.read()

    async with scripted(script) as target, Client(target) as client:
        with trace.get_tracer("test").start_as_current_span("asking") as span:
            await client.call("AccountGetRequest", {})
        request = await asked.reported()
    assert f"{span.get_span_context().span_id:016x}" in parent(request)
    exporter.clear()


async def test_without_opentelemetry_everything_works_and_nothing_is_carried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tracing, "HAS_TRACES", False)
    asked = asyncio.Queue[CloudEvent]()

    async def script(server: Side) -> None:
        request = await server.read()
        await server.write("AccountGetResponse", {"success": True}, requestid=request.id)
        await asked.put(request)
        await server.read()

    async with scripted(script) as target, Client(target) as client:
        with tracing.handling("processor", "price", {"traceparent": PARENT}):
            await client.call("AccountGetRequest", {})
        assert "traceparent" not in (await asked.get()).attributes
