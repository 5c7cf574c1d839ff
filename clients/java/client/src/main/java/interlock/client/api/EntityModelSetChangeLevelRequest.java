// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Request;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The payload of this request.
 *
 * @param changeLevel Looked at once the model is known to be there.
 */
public record EntityModelSetChangeLevelRequest(
        String changeLevel,
        ModelSpec model) implements Request {

    @Override
    public String eventType() {
        return "EntityModelSetChangeLevelRequest";
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.changeLevel = changeLevel;
        builder.model = model;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable String changeLevel;
        private @Nullable ModelSpec model;

        private Builder() {}

        /** Looked at once the model is known to be there. */
        public Builder changeLevel(String changeLevel) {
            this.changeLevel = changeLevel;
            return this;
        }

        public Builder model(ModelSpec model) {
            this.model = model;
            return this;
        }

        /** Makes it. */
        public EntityModelSetChangeLevelRequest build() {
            return new EntityModelSetChangeLevelRequest(
                    Objects.requireNonNull(changeLevel, "changeLevel"),
                    Objects.requireNonNull(model, "model"));
        }
    }
}
