// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Request;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** The payload of this request. */
public record EntityDeleteRequest(
        String entityId) implements Request {

    @Override
    public String eventType() {
        return "EntityDeleteRequest";
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.entityId = entityId;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable String entityId;

        private Builder() {}

        public Builder entityId(String entityId) {
            this.entityId = entityId;
            return this;
        }

        /** Makes it. */
        public EntityDeleteRequest build() {
            return new EntityDeleteRequest(
                    Objects.requireNonNull(entityId, "entityId"));
        }
    }
}
