// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Request;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** The payload of this request. */
public record EntityModelTransitionRequest(
        ModelSpec model,
        LockChange transition) implements Request {

    @Override
    public String eventType() {
        return "EntityModelTransitionRequest";
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.model = model;
        builder.transition = transition;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable ModelSpec model;
        private @Nullable LockChange transition;

        private Builder() {}

        public Builder model(ModelSpec model) {
            this.model = model;
            return this;
        }

        public Builder transition(LockChange transition) {
            this.transition = transition;
            return this;
        }

        /** Makes it. */
        public EntityModelTransitionRequest build() {
            return new EntityModelTransitionRequest(
                    Objects.requireNonNull(model, "model"),
                    Objects.requireNonNull(transition, "transition"));
        }
    }
}
