// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Request;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The payload of this request.
 *
 * @param fromSequence The last sequence received, for later changes only; absent to receive the result first.
 * @param includeData Whether changes include documents; the result always does.
 */
public record EntitySearchSubscribeRequest(
        Condition condition,
        @Nullable Long fromSequence,
        @Nullable Boolean includeData,
        ModelSpec model) implements Request {

    @Override
    public String eventType() {
        return "EntitySearchSubscribeRequest";
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.condition = condition;
        builder.fromSequence = fromSequence;
        builder.includeData = includeData;
        builder.model = model;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable Condition condition;
        private @Nullable Long fromSequence;
        private @Nullable Boolean includeData;
        private @Nullable ModelSpec model;

        private Builder() {}

        public Builder condition(Condition condition) {
            this.condition = condition;
            return this;
        }

        /** The last sequence received, for later changes only; absent to receive the result first. */
        public Builder fromSequence(long fromSequence) {
            this.fromSequence = fromSequence;
            return this;
        }

        /** Whether changes include documents; the result always does. */
        public Builder includeData(boolean includeData) {
            this.includeData = includeData;
            return this;
        }

        public Builder model(ModelSpec model) {
            this.model = model;
            return this;
        }

        /** Makes it. */
        public EntitySearchSubscribeRequest build() {
            return new EntitySearchSubscribeRequest(
                    Objects.requireNonNull(condition, "condition"),
                    fromSequence,
                    includeData,
                    Objects.requireNonNull(model, "model"));
        }
    }
}
