/** Traces by OpenTelemetry. Without a registered SDK, nothing happens. */
import { context, propagation, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { attribute, type CloudEvent } from "./envelope.js";

/** The extension attributes that carry a trace. */
const ATTRIBUTES = ["traceparent", "tracestate"] as const;

/** The trace of an event. */
export type Trace = Readonly<Record<string, string>>;

/** The trace that the current code is a part of, as attributes of a request. */
export function currentTrace(): Trace {
  const carrier: Record<string, string> = {};
  propagation.inject(context.active(), carrier);
  return only((name) => carrier[name]);
}

/** The trace that an event belongs to. */
export function traceOf(event: CloudEvent): Trace {
  return only((name) => attribute(event, name));
}

/** Runs a handler in a span that continues the trace of its caller. */
export async function traced<T>(
  kind: string,
  name: string,
  caller: Trace,
  handler: () => T | Promise<T>,
): Promise<T> {
  const parent = propagation.extract(context.active(), caller);
  const attributes = { "interlock.kind": kind, "interlock.name": name };
  const options = { kind: SpanKind.SERVER, attributes };
  const tracer = trace.getTracer("interlock-client");
  return await tracer.startActiveSpan(`${kind} ${name}`, options, parent, async (span) => {
    try {
      return await handler();
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      span.setStatus({ code: SpanStatusCode.ERROR, message });
      throw error;
    } finally {
      span.end();
    }
  });
}

function only(read: (name: string) => string | undefined): Trace {
  const found: Record<string, string> = {};
  for (const name of ATTRIBUTES) {
    const value = read(name);
    if (value !== undefined) found[name] = value;
  }
  return found;
}
