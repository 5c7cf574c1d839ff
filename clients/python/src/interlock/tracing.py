"""Traces: requests carry the caller's trace, and handlers continue it.

For that the package opentelemetry-api has to be installed, as `interlock-client[tracing]` does;
without it, and without a tracer provider, nothing happens.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from interlock.api.cloudevents_pb2 import CloudEvent

try:
    from opentelemetry import trace
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    HAS_TRACES = True
except ImportError:
    HAS_TRACES = False

_ATTRIBUTES = ("traceparent", "tracestate")


def carry(event: CloudEvent) -> None:
    """Add the current trace to a request."""
    if HAS_TRACES:
        carrier: dict[str, str] = {}
        TraceContextTextMapPropagator().inject(carrier)
        for name, value in carrier.items():
            event.attributes[name].ce_string = value


def trace_of(event: CloudEvent) -> Mapping[str, str]:
    """Return the trace that an event belongs to, if any."""
    return {
        name: event.attributes[name].ce_string for name in _ATTRIBUTES if name in event.attributes
    }


@contextmanager
def handling(kind: str, name: str, caller: Mapping[str, str]) -> Iterator[None]:
    """Run a handler in a span that continues the caller's trace; a failure is recorded in it."""
    if not HAS_TRACES:
        yield
        return
    with trace.get_tracer("interlock").start_as_current_span(
        f"{kind} {name}",
        context=TraceContextTextMapPropagator().extract(caller),
        kind=trace.SpanKind.SERVER,
        attributes={"interlock.kind": kind, "interlock.name": name},
    ):
        yield
