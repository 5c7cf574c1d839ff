// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Request;
import java.math.BigDecimal;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The payload of this request.
 *
 * @param load How busy it is, from 0 to 1.
 */
public record WorkerHeartbeatRequest(
        @Nullable BigDecimal load,
        @Nullable String namespace,
        String workerId) implements Request {

    @Override
    public String eventType() {
        return "WorkerHeartbeatRequest";
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.load = load;
        builder.namespace = namespace;
        builder.workerId = workerId;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable BigDecimal load;
        private @Nullable String namespace;
        private @Nullable String workerId;

        private Builder() {}

        /** How busy it is, from 0 to 1. */
        public Builder load(BigDecimal load) {
            this.load = load;
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
        public WorkerHeartbeatRequest build() {
            return new WorkerHeartbeatRequest(
                    load,
                    namespace,
                    Objects.requireNonNull(workerId, "workerId"));
        }
    }
}
