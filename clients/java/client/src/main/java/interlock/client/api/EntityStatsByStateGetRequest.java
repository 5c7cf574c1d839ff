// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Request;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The payload of this request. */
public record EntityStatsByStateGetRequest(
        @Nullable ModelSpec model,
        @Nullable List<String> states) implements Request {

    @Override
    public String eventType() {
        return "EntityStatsByStateGetRequest";
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.model = model;
        builder.states = states;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable ModelSpec model;
        private @Nullable List<String> states;

        private Builder() {}

        public Builder model(ModelSpec model) {
            this.model = model;
            return this;
        }

        public Builder states(List<String> states) {
            this.states = states;
            return this;
        }

        /** Makes it. */
        public EntityStatsByStateGetRequest build() {
            return new EntityStatsByStateGetRequest(
                    model,
                    states);
        }
    }
}
