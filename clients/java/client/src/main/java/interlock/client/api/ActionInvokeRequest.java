// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Json;
import interlock.client.Request;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The payload of this request.
 *
 * @param delayMs How long the task is held back.
 * @param idempotencyKey Belongs to the action and never expires: 1 to 255 characters.
 * @param input Any JSON, at most 1 MiB; <code>{}</code> if absent.
 * @param labels What the worker must have among its labels.
 * @param name The name of an action.
 * @param namespace <code>default</code> if absent.
 * @param priority Higher ones are sent first, 0 to 255; 10 if absent.
 * @param waitMs How long to wait for the end of the task, 0 to 30000.
 */
public record ActionInvokeRequest(
        @Nullable Long delayMs,
        @Nullable String idempotencyKey,
        @Nullable Json input,
        @Nullable Map<String, String> labels,
        String name,
        @Nullable String namespace,
        @Nullable Long priority,
        @Nullable Long waitMs) implements Request {

    @Override
    public String eventType() {
        return "ActionInvokeRequest";
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.delayMs = delayMs;
        builder.idempotencyKey = idempotencyKey;
        builder.input = input;
        builder.labels = labels;
        builder.name = name;
        builder.namespace = namespace;
        builder.priority = priority;
        builder.waitMs = waitMs;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable Long delayMs;
        private @Nullable String idempotencyKey;
        private @Nullable Json input;
        private @Nullable Map<String, String> labels;
        private @Nullable String name;
        private @Nullable String namespace;
        private @Nullable Long priority;
        private @Nullable Long waitMs;

        private Builder() {}

        /** How long the task is held back. */
        public Builder delayMs(long delayMs) {
            this.delayMs = delayMs;
            return this;
        }

        /** Belongs to the action and never expires: 1 to 255 characters. */
        public Builder idempotencyKey(String idempotencyKey) {
            this.idempotencyKey = idempotencyKey;
            return this;
        }

        /** Any JSON, at most 1 MiB; <code>{}</code> if absent. */
        public Builder input(Json input) {
            this.input = input;
            return this;
        }

        /** What the worker must have among its labels. */
        public Builder labels(Map<String, String> labels) {
            this.labels = labels;
            return this;
        }

        /** The name of an action. */
        public Builder name(String name) {
            this.name = name;
            return this;
        }

        /** <code>default</code> if absent. */
        public Builder namespace(String namespace) {
            this.namespace = namespace;
            return this;
        }

        /** Higher ones are sent first, 0 to 255; 10 if absent. */
        public Builder priority(long priority) {
            this.priority = priority;
            return this;
        }

        /** How long to wait for the end of the task, 0 to 30000. */
        public Builder waitMs(long waitMs) {
            this.waitMs = waitMs;
            return this;
        }

        /** Makes it. */
        public ActionInvokeRequest build() {
            return new ActionInvokeRequest(
                    delayMs,
                    idempotencyKey,
                    input,
                    labels,
                    Objects.requireNonNull(name, "name"),
                    namespace,
                    priority,
                    waitMs);
        }
    }
}
