// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Request;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** The payload of this request. */
public record RunGetRequest(
        String runId) implements Request {

    @Override
    public String eventType() {
        return "RunGetRequest";
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.runId = runId;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable String runId;

        private Builder() {}

        public Builder runId(String runId) {
            this.runId = runId;
            return this;
        }

        /** Makes it. */
        public RunGetRequest build() {
            return new RunGetRequest(
                    Objects.requireNonNull(runId, "runId"));
        }
    }
}
