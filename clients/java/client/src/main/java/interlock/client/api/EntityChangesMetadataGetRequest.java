// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Request;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** The payload of this request. */
public record EntityChangesMetadataGetRequest(
        String entityId,
        @Nullable String pointInTime) implements Request {

    @Override
    public String eventType() {
        return "EntityChangesMetadataGetRequest";
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.entityId = entityId;
        builder.pointInTime = pointInTime;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable String entityId;
        private @Nullable String pointInTime;

        private Builder() {}

        public Builder entityId(String entityId) {
            this.entityId = entityId;
            return this;
        }

        public Builder pointInTime(String pointInTime) {
            this.pointInTime = pointInTime;
            return this;
        }

        /** Makes it. */
        public EntityChangesMetadataGetRequest build() {
            return new EntityChangesMetadataGetRequest(
                    Objects.requireNonNull(entityId, "entityId"),
                    pointInTime);
        }
    }
}
