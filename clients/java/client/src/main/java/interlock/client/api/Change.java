// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Json;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

public record Change(
        Json data,
        String entityId,
        @Nullable String ifMatch,
        @Nullable String transition) {

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.data = data;
        builder.entityId = entityId;
        builder.ifMatch = ifMatch;
        builder.transition = transition;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable Json data;
        private @Nullable String entityId;
        private @Nullable String ifMatch;
        private @Nullable String transition;

        private Builder() {}

        public Builder data(Json data) {
            this.data = data;
            return this;
        }

        public Builder entityId(String entityId) {
            this.entityId = entityId;
            return this;
        }

        public Builder ifMatch(String ifMatch) {
            this.ifMatch = ifMatch;
            return this;
        }

        public Builder transition(String transition) {
            this.transition = transition;
            return this;
        }

        /** Makes it. */
        public Change build() {
            return new Change(
                    Objects.requireNonNull(data, "data"),
                    Objects.requireNonNull(entityId, "entityId"),
                    ifMatch,
                    transition);
        }
    }
}
