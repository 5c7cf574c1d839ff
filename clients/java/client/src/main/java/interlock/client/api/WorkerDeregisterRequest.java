// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Request;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Names a worker. */
public record WorkerDeregisterRequest(
        @Nullable String namespace,
        String workerId) implements Request {

    @Override
    public String eventType() {
        return "WorkerDeregisterRequest";
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.namespace = namespace;
        builder.workerId = workerId;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable String namespace;
        private @Nullable String workerId;

        private Builder() {}

        public Builder namespace(String namespace) {
            this.namespace = namespace;
            return this;
        }

        public Builder workerId(String workerId) {
            this.workerId = workerId;
            return this;
        }

        /** Makes it. */
        public WorkerDeregisterRequest build() {
            return new WorkerDeregisterRequest(
                    namespace,
                    Objects.requireNonNull(workerId, "workerId"));
        }
    }
}
