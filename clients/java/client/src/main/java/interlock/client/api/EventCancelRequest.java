// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

public record EventCancelRequest(
        String requestId) {

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.requestId = requestId;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable String requestId;

        private Builder() {}

        public Builder requestId(String requestId) {
            this.requestId = requestId;
            return this;
        }

        /** Makes it. */
        public EventCancelRequest build() {
            return new EventCancelRequest(
                    Objects.requireNonNull(requestId, "requestId"));
        }
    }
}
