// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Request;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The payload of this request.
 *
 * @param reason <code>cancelled by user</code> if absent.
 */
public record RunCancelRequest(
        @Nullable String reason,
        String runId) implements Request {

    @Override
    public String eventType() {
        return "RunCancelRequest";
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.reason = reason;
        builder.runId = runId;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable String reason;
        private @Nullable String runId;

        private Builder() {}

        /** <code>cancelled by user</code> if absent. */
        public Builder reason(String reason) {
            this.reason = reason;
            return this;
        }

        public Builder runId(String runId) {
            this.runId = runId;
            return this;
        }

        /** Makes it. */
        public RunCancelRequest build() {
            return new RunCancelRequest(
                    reason,
                    Objects.requireNonNull(runId, "runId"));
        }
    }
}
