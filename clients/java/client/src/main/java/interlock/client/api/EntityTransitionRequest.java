// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Request;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The payload of this request.
 *
 * @param ifMatch The version to take it in, by the transaction that wrote it; <code>*</code> is any version.
 */
public record EntityTransitionRequest(
        String entityId,
        @Nullable String ifMatch,
        String transition) implements Request {

    @Override
    public String eventType() {
        return "EntityTransitionRequest";
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
        builder.transition = transition;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable String entityId;
        private @Nullable String ifMatch;
        private @Nullable String transition;

        private Builder() {}

        public Builder entityId(String entityId) {
            this.entityId = entityId;
            return this;
        }

        /** The version to take it in, by the transaction that wrote it; <code>*</code> is any version. */
        public Builder ifMatch(String ifMatch) {
            this.ifMatch = ifMatch;
            return this;
        }

        public Builder transition(String transition) {
            this.transition = transition;
            return this;
        }

        /** Makes it. */
        public EntityTransitionRequest build() {
            return new EntityTransitionRequest(
                    Objects.requireNonNull(entityId, "entityId"),
                    ifMatch,
                    Objects.requireNonNull(transition, "transition"));
        }
    }
}
