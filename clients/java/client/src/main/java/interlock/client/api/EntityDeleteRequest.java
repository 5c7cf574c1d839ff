// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Request;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The payload of this request.
 *
 * @param ifMatch The version to delete, by the transaction that wrote it; <code>*</code> is any version.
 */
public record EntityDeleteRequest(
        String entityId,
        @Nullable String ifMatch) implements Request {

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
        builder.ifMatch = ifMatch;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable String entityId;
        private @Nullable String ifMatch;

        private Builder() {}

        public Builder entityId(String entityId) {
            this.entityId = entityId;
            return this;
        }

        /** The version to delete, by the transaction that wrote it; <code>*</code> is any version. */
        public Builder ifMatch(String ifMatch) {
            this.ifMatch = ifMatch;
            return this;
        }

        /** Makes it. */
        public EntityDeleteRequest build() {
            return new EntityDeleteRequest(
                    Objects.requireNonNull(entityId, "entityId"),
                    ifMatch);
        }
    }
}
