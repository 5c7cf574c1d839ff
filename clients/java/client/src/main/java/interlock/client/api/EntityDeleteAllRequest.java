// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Request;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The payload of this request.
 *
 * @param condition The entities to delete; all if absent. Null is not a valid condition, and deletes nothing.
 */
public record EntityDeleteAllRequest(
        @Nullable Condition condition,
        ModelSpec model,
        @Nullable String pointInTime,
        @Nullable Boolean verbose) implements Request {

    @Override
    public String eventType() {
        return "EntityDeleteAllRequest";
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.condition = condition;
        builder.model = model;
        builder.pointInTime = pointInTime;
        builder.verbose = verbose;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable Condition condition;
        private @Nullable ModelSpec model;
        private @Nullable String pointInTime;
        private @Nullable Boolean verbose;

        private Builder() {}

        /** The entities to delete; all if absent. Null is not a valid condition, and deletes nothing. */
        public Builder condition(Condition condition) {
            this.condition = condition;
            return this;
        }

        public Builder model(ModelSpec model) {
            this.model = model;
            return this;
        }

        public Builder pointInTime(String pointInTime) {
            this.pointInTime = pointInTime;
            return this;
        }

        public Builder verbose(boolean verbose) {
            this.verbose = verbose;
            return this;
        }

        /** Makes it. */
        public EntityDeleteAllRequest build() {
            return new EntityDeleteAllRequest(
                    condition,
                    Objects.requireNonNull(model, "model"),
                    pointInTime,
                    verbose);
        }
    }
}
