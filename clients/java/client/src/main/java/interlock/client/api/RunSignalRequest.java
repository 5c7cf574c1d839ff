// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Json;
import interlock.client.Request;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The payload of this request.
 *
 * @param payload Any JSON, at most 1 MiB; null if absent.
 * @param type Compared exactly with what steps wait for.
 */
public record RunSignalRequest(
        @Nullable Json payload,
        String runId,
        String type) implements Request {

    @Override
    public String eventType() {
        return "RunSignalRequest";
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.payload = payload;
        builder.runId = runId;
        builder.type = type;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable Json payload;
        private @Nullable String runId;
        private @Nullable String type;

        private Builder() {}

        /** Any JSON, at most 1 MiB; null if absent. */
        public Builder payload(Json payload) {
            this.payload = payload;
            return this;
        }

        public Builder runId(String runId) {
            this.runId = runId;
            return this;
        }

        /** Compared exactly with what steps wait for. */
        public Builder type(String type) {
            this.type = type;
            return this;
        }

        /** Makes it. */
        public RunSignalRequest build() {
            return new RunSignalRequest(
                    payload,
                    Objects.requireNonNull(runId, "runId"),
                    Objects.requireNonNull(type, "type"));
        }
    }
}
