// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Json;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A state and its transitions; a state without transitions is final.
 *
 * @param annotations Any JSON object; stored and exported unchanged.
 * @param transitions The transitions out of the state.
 */
public record State(
        @Nullable Map<String, Json> annotations,
        @Nullable List<Transition> transitions) {

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.annotations = annotations;
        builder.transitions = transitions;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable Map<String, Json> annotations;
        private @Nullable List<Transition> transitions;

        private Builder() {}

        /** Any JSON object; stored and exported unchanged. */
        public Builder annotations(Map<String, Json> annotations) {
            this.annotations = annotations;
            return this;
        }

        /** The transitions out of the state. */
        public Builder transitions(List<Transition> transitions) {
            this.transitions = transitions;
            return this;
        }

        /** Makes it. */
        public State build() {
            return new State(
                    annotations,
                    transitions);
        }
    }
}
