/** Traces over the stream, by OpenTelemetry. */
import assert from "node:assert/strict";
import { AsyncLocalStorage } from "node:async_hooks";
import { it } from "node:test";
import {
  type Context,
  context,
  propagation,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanStatusCode,
  trace,
} from "@opentelemetry/api";
import { Member, Rejected, silentLogger } from "interlock-client";
import { attribute, type CloudEvent, payloadOf } from "#client/envelope.js";
import { scripted } from "./scripted.js";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const CALLER = `00-${TRACE}-b7ad6b7169203331-01`;
const OWN: SpanContext = { traceId: TRACE, spanId: "00f067aa0ba902b7", traceFlags: 1 };

/** What an SDK registers, as small as it can be. */
function registerSdk(): { started: { name: string; parent: string | undefined; code?: number }[] } {
  const active = new AsyncLocalStorage<Context>();
  context.setGlobalContextManager({
    active: () => active.getStore() ?? ROOT_CONTEXT,
    with: (given, run, that, ...rest) => active.run(given, () => run.apply(that, rest)),
    bind: (_given, target) => target,
    enable: () => context as never,
    disable: () => context as never,
  });
  propagation.setGlobalPropagator({
    fields: () => ["traceparent"],
    inject: (given, carrier, setter) => {
      const span = trace.getSpanContext(given);
      if (span) setter.set(carrier, "traceparent", `00-${span.traceId}-${span.spanId}-01`);
    },
    extract: (given, carrier, getter) => {
      const [, traceId = "", spanId = ""] = String(getter.get(carrier, "traceparent")).split("-");
      return trace.setSpanContext(given, { traceId, spanId, traceFlags: 1 });
    },
  });
  const started: { name: string; parent: string | undefined; code?: number }[] = [];
  const startActiveSpan = (
    name: string,
    _options: unknown,
    parent: Context,
    run: (span: Span) => unknown,
  ): unknown => {
    const about: (typeof started)[number] = { name, parent: trace.getSpanContext(parent)?.spanId };
    started.push(about);
    const span = Object.assign(trace.wrapSpanContext(OWN), {
      setStatus: ({ code }: { code: number }) => {
        about.code = code;
      },
    });
    return context.with(trace.setSpan(parent, span as Span), () => run(span as Span));
  };
  trace.setGlobalTracerProvider({ getTracer: () => ({ startActiveSpan }) as never });
  return { started };
}

it("a handler and its requests continue the trace of the caller", async () => {
  const { started } = registerSdk();
  const came: CloudEvent[] = [];
  let done: () => void = () => undefined;
  const answered = new Promise<void>((resolve) => {
    done = resolve;
  });
  await using server = await scripted(async (side) => {
    await side.greet();
    const call = { requestId: "r-1", entityId: "e-1", processorName: "price" };
    const attributes = { traceparent: CALLER, cyodatxtoken: "t-1" };
    side.write("EntityProcessorCalculationRequest", call, attributes);
    const request = await side.read();
    side.write("AccountGetResponse", { success: true }, { requestid: request.id });
    came.push(request, await side.read());
    done();
    await side.read();
  });
  const member = new Member(server.target, { tags: [], logger: silentLogger });
  member.detachedProcessor("price", async (call) => {
    await call.operations.accountGet({});
    throw new Rejected("not today");
  });
  await member.start();
  await answered;
  const [request, answer] = came as [CloudEvent, CloudEvent];
  assert.equal(attribute(request, "traceparent"), `00-${TRACE}-${OWN.spanId}-01`);
  assert.equal(payloadOf(answer).success, false);
  await member.stop();
  const span = { name: "processor price", parent: "b7ad6b7169203331", code: SpanStatusCode.ERROR };
  assert.deepEqual(started, [span]);
});
