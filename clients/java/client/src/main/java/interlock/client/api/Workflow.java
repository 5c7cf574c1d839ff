// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Json;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A state machine for the entities of a model.
 *
 * @param active Whether the workflow is selected for new entities; true if absent.
 * @param annotations Any JSON object; stored and exported unchanged.
 * @param criterion The entities it is selected for; all if absent.
 * @param criterionAnnotations Any JSON object; stored and exported unchanged.
 * @param desc A description.
 * @param initialState The state of new entities.
 * @param machine The state machine of a bundle that the workflow is made from: criteria with the name <code>cel</code>
 * are its guards, and processors with the tag of a connector its actions, so that no member
 * is called for them.
 * @param name Unique among the workflows of the model.
 * @param states The states by name.
 * @param version The schema version, like <code>1.1</code>.
 */
public record Workflow(
        @Nullable Boolean active,
        @Nullable Map<String, Json> annotations,
        @Nullable Condition criterion,
        @Nullable Map<String, Json> criterionAnnotations,
        @Nullable String desc,
        String initialState,
        @Nullable WorkflowMachine machine,
        String name,
        Map<String, State> states,
        @Nullable String version) {

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.active = active;
        builder.annotations = annotations;
        builder.criterion = criterion;
        builder.criterionAnnotations = criterionAnnotations;
        builder.desc = desc;
        builder.initialState = initialState;
        builder.machine = machine;
        builder.name = name;
        builder.states = states;
        builder.version = version;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable Boolean active;
        private @Nullable Map<String, Json> annotations;
        private @Nullable Condition criterion;
        private @Nullable Map<String, Json> criterionAnnotations;
        private @Nullable String desc;
        private @Nullable String initialState;
        private @Nullable WorkflowMachine machine;
        private @Nullable String name;
        private @Nullable Map<String, State> states;
        private @Nullable String version;

        private Builder() {}

        /** Whether the workflow is selected for new entities; true if absent. */
        public Builder active(boolean active) {
            this.active = active;
            return this;
        }

        /** Any JSON object; stored and exported unchanged. */
        public Builder annotations(Map<String, Json> annotations) {
            this.annotations = annotations;
            return this;
        }

        /** The entities it is selected for; all if absent. */
        public Builder criterion(Condition criterion) {
            this.criterion = criterion;
            return this;
        }

        /** Any JSON object; stored and exported unchanged. */
        public Builder criterionAnnotations(Map<String, Json> criterionAnnotations) {
            this.criterionAnnotations = criterionAnnotations;
            return this;
        }

        /** A description. */
        public Builder desc(String desc) {
            this.desc = desc;
            return this;
        }

        /** The state of new entities. */
        public Builder initialState(String initialState) {
            this.initialState = initialState;
            return this;
        }

        /**
         * The state machine of a bundle that the workflow is made from: criteria with the name <code>cel</code>
         * are its guards, and processors with the tag of a connector its actions, so that no member
         * is called for them.
         */
        public Builder machine(WorkflowMachine machine) {
            this.machine = machine;
            return this;
        }

        /** Unique among the workflows of the model. */
        public Builder name(String name) {
            this.name = name;
            return this;
        }

        /** The states by name. */
        public Builder states(Map<String, State> states) {
            this.states = states;
            return this;
        }

        /** The schema version, like <code>1.1</code>. */
        public Builder version(String version) {
            this.version = version;
            return this;
        }

        /** Makes it. */
        public Workflow build() {
            return new Workflow(
                    active,
                    annotations,
                    criterion,
                    criterionAnnotations,
                    desc,
                    Objects.requireNonNull(initialState, "initialState"),
                    machine,
                    Objects.requireNonNull(name, "name"),
                    Objects.requireNonNull(states, "states"),
                    version);
        }
    }
}
