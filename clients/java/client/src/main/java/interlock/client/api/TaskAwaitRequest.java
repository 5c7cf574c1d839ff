// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Request;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The payload of this request.
 *
 * @param actions The actions whose tasks it takes, 1 to 100; <code>*</code> stands for all of them.
 * @param blockMs How long it waits for a task, in milliseconds, at most 300000; 30000, if absent.
 * @param max How many tasks it takes, at most 100; 1, if absent.
 */
public record TaskAwaitRequest(
        List<String> actions,
        @Nullable Long blockMs,
        @Nullable Long max,
        @Nullable String namespace,
        String workerId) implements Request {

    @Override
    public String eventType() {
        return "TaskAwaitRequest";
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.actions = actions;
        builder.blockMs = blockMs;
        builder.max = max;
        builder.namespace = namespace;
        builder.workerId = workerId;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable List<String> actions;
        private @Nullable Long blockMs;
        private @Nullable Long max;
        private @Nullable String namespace;
        private @Nullable String workerId;

        private Builder() {}

        /** The actions whose tasks it takes, 1 to 100; <code>*</code> stands for all of them. */
        public Builder actions(List<String> actions) {
            this.actions = actions;
            return this;
        }

        /** How long it waits for a task, in milliseconds, at most 300000; 30000, if absent. */
        public Builder blockMs(long blockMs) {
            this.blockMs = blockMs;
            return this;
        }

        /** How many tasks it takes, at most 100; 1, if absent. */
        public Builder max(long max) {
            this.max = max;
            return this;
        }

        public Builder namespace(String namespace) {
            this.namespace = namespace;
            return this;
        }

        public Builder workerId(String workerId) {
            this.workerId = workerId;
            return this;
        }

        /** Makes it. */
        public TaskAwaitRequest build() {
            return new TaskAwaitRequest(
                    Objects.requireNonNull(actions, "actions"),
                    blockMs,
                    max,
                    namespace,
                    Objects.requireNonNull(workerId, "workerId"));
        }
    }
}
