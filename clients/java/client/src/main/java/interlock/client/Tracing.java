package interlock.client;

import interlock.client.cloudevents.CloudEvent;
import java.util.concurrent.Callable;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/** Continues traces, if the program has OpenTelemetry on its class path. */
interface Tracing {

    Tracing INSTANCE = isThere() ? new OpenTelemetryTracing() : new NoTracing();

    /** Adds the attributes of the span at hand to what is sent. */
    void inject(BiConsumer<String, String> set);

    /** Runs a handler in a span that continues the trace of the event. */
    @Nullable Object trace(CloudEvent event, Kind kind, String name, Callable<@Nullable Object> handler) throws Exception;

    private static boolean isThere() {
        try {
            Class.forName("io.opentelemetry.api.GlobalOpenTelemetry", false, Tracing.class.getClassLoader());
            return true;
        } catch (ClassNotFoundException | LinkageError absent) {
            return false;
        }
    }

    /** Does nothing. */
    final class NoTracing implements Tracing {

        @Override
        public void inject(BiConsumer<String, String> set) {}

        @Override
        public @Nullable Object trace(CloudEvent event, Kind kind, String name, Callable<@Nullable Object> handler)
                throws Exception {
            return handler.call();
        }
    }
}
