// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Json;
import interlock.client.Request;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The payload of this request.
 *
 * @param actions The actions that it does; <code>*</code> stands for all of them.
 * @param labels What tasks may require of it.
 * @param maxConcurrency How many tasks it takes at a time; 10, if absent.
 * @param metadata Anything that the worker says of itself.
 */
public record WorkerRegisterRequest(
        List<String> actions,
        @Nullable Map<String, String> labels,
        @Nullable String machineId,
        @Nullable Long maxConcurrency,
        @Nullable Map<String, Json> metadata,
        @Nullable String namespace,
        String workerId) implements Request {

    @Override
    public String eventType() {
        return "WorkerRegisterRequest";
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.actions = actions;
        builder.labels = labels;
        builder.machineId = machineId;
        builder.maxConcurrency = maxConcurrency;
        builder.metadata = metadata;
        builder.namespace = namespace;
        builder.workerId = workerId;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable List<String> actions;
        private @Nullable Map<String, String> labels;
        private @Nullable String machineId;
        private @Nullable Long maxConcurrency;
        private @Nullable Map<String, Json> metadata;
        private @Nullable String namespace;
        private @Nullable String workerId;

        private Builder() {}

        /** The actions that it does; <code>*</code> stands for all of them. */
        public Builder actions(List<String> actions) {
            this.actions = actions;
            return this;
        }

        /** What tasks may require of it. */
        public Builder labels(Map<String, String> labels) {
            this.labels = labels;
            return this;
        }

        public Builder machineId(String machineId) {
            this.machineId = machineId;
            return this;
        }

        /** How many tasks it takes at a time; 10, if absent. */
        public Builder maxConcurrency(long maxConcurrency) {
            this.maxConcurrency = maxConcurrency;
            return this;
        }

        /** Anything that the worker says of itself. */
        public Builder metadata(Map<String, Json> metadata) {
            this.metadata = metadata;
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
        public WorkerRegisterRequest build() {
            return new WorkerRegisterRequest(
                    Objects.requireNonNull(actions, "actions"),
                    labels,
                    machineId,
                    maxConcurrency,
                    metadata,
                    namespace,
                    Objects.requireNonNull(workerId, "workerId"));
        }
    }
}
