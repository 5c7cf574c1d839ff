package interlock.client;

import interlock.client.cloudevents.CloudEvent;
import io.opentelemetry.api.GlobalOpenTelemetry;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.api.trace.StatusCode;
import io.opentelemetry.api.trace.propagation.W3CTraceContextPropagator;
import io.opentelemetry.context.Context;
import io.opentelemetry.context.Scope;
import io.opentelemetry.context.propagation.TextMapGetter;
import java.util.concurrent.Callable;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/** Continues traces by the attributes {@code traceparent} and {@code tracestate}. */
final class OpenTelemetryTracing implements Tracing {

    private static final TextMapGetter<CloudEvent> ATTRIBUTES = new TextMapGetter<>() {
        @Override
        public Iterable<String> keys(CloudEvent event) {
            return event.getAttributesMap().keySet();
        }

        @Override
        public @Nullable String get(@Nullable CloudEvent event, String key) {
            return event == null ? null : Envelope.attribute(event, key);
        }
    };

    @Override
    public void inject(BiConsumer<String, String> set) {
        Context current = Context.current();
        if (Span.fromContext(current).getSpanContext().isValid()) {
            W3CTraceContextPropagator.getInstance().inject(current, set, (carrier, name, value) -> set.accept(name, value));
        }
    }

    @Override
    public @Nullable Object trace(CloudEvent event, Kind kind, String name, Callable<@Nullable Object> handler)
            throws Exception {
        Context caller = W3CTraceContextPropagator.getInstance().extract(Context.current(), event, ATTRIBUTES);
        Span span = GlobalOpenTelemetry.getTracer("interlock.client").spanBuilder(kind + " " + name)
                .setParent(caller).setSpanKind(SpanKind.SERVER)
                .setAttribute("interlock.kind", kind.toString()).setAttribute("interlock.name", name).startSpan();
        Scope scope = caller.with(span).makeCurrent();
        try {
            return handler.call();
        } catch (Exception | Error e) {
            span.setStatus(StatusCode.ERROR, Work.textOf(e));
            throw e;
        } finally {
            scope.close();
            span.end();
        }
    }
}
