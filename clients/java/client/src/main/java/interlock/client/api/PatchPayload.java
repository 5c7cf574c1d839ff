// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Json;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** @param ifMatch Required; <code>*</code> is any version. */
public record PatchPayload(
        String entityId,
        @Nullable String ifMatch,
        Json patch,
        @Nullable String transition) {

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.entityId = entityId;
        builder.ifMatch = ifMatch;
        builder.patch = patch;
        builder.transition = transition;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable String entityId;
        private @Nullable String ifMatch;
        private @Nullable Json patch;
        private @Nullable String transition;

        private Builder() {}

        public Builder entityId(String entityId) {
            this.entityId = entityId;
            return this;
        }

        /** Required; <code>*</code> is any version. */
        public Builder ifMatch(String ifMatch) {
            this.ifMatch = ifMatch;
            return this;
        }

        public Builder patch(Json patch) {
            this.patch = patch;
            return this;
        }

        public Builder transition(String transition) {
            this.transition = transition;
            return this;
        }

        /** Makes it. */
        public PatchPayload build() {
            return new PatchPayload(
                    Objects.requireNonNull(entityId, "entityId"),
                    ifMatch,
                    Objects.requireNonNull(patch, "patch"),
                    transition);
        }
    }
}
