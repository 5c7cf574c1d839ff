// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Request;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The payload of this request.
 *
 * @param fromSequence The last sequence received; 0 for all changes, absent for new changes only.
 */
public record EntityChangesSubscribeRequest(
        @Nullable Long fromSequence,
        @Nullable Boolean includeData,
        @Nullable ModelSpec model,
        @Nullable List<String> states) implements Request {

    @Override
    public String eventType() {
        return "EntityChangesSubscribeRequest";
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.fromSequence = fromSequence;
        builder.includeData = includeData;
        builder.model = model;
        builder.states = states;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable Long fromSequence;
        private @Nullable Boolean includeData;
        private @Nullable ModelSpec model;
        private @Nullable List<String> states;

        private Builder() {}

        /** The last sequence received; 0 for all changes, absent for new changes only. */
        public Builder fromSequence(long fromSequence) {
            this.fromSequence = fromSequence;
            return this;
        }

        public Builder includeData(boolean includeData) {
            this.includeData = includeData;
            return this;
        }

        public Builder model(ModelSpec model) {
            this.model = model;
            return this;
        }

        public Builder states(List<String> states) {
            this.states = states;
            return this;
        }

        /** Makes it. */
        public EntityChangesSubscribeRequest build() {
            return new EntityChangesSubscribeRequest(
                    fromSequence,
                    includeData,
                    model,
                    states);
        }
    }
}
