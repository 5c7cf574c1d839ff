// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Request;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** The payload of this request. */
public record IncidentCancelRequest(
        String incidentId) implements Request {

    @Override
    public String eventType() {
        return "IncidentCancelRequest";
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.incidentId = incidentId;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable String incidentId;

        private Builder() {}

        public Builder incidentId(String incidentId) {
            this.incidentId = incidentId;
            return this;
        }

        /** Makes it. */
        public IncidentCancelRequest build() {
            return new IncidentCancelRequest(
                    Objects.requireNonNull(incidentId, "incidentId"));
        }
    }
}
