// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Json;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A transition from one state to another. Automated transitions are tried in order.
 *
 * @param annotations Any JSON object; stored and exported unchanged.
 * @param criterion The condition under which it may be taken; always if absent.
 * @param criterionAnnotations Any JSON object; stored and exported unchanged.
 * @param disabled Whether it is never taken.
 * @param manual Whether it is taken on request only; otherwise it is automated.
 * @param name Unique in the state.
 * @param next The target state.
 * @param processors The processors that run when it is taken, in order.
 * @param schedule Takes the transition after some time.
 */
public record Transition(
        @Nullable Map<String, Json> annotations,
        @Nullable Condition criterion,
        @Nullable Map<String, Json> criterionAnnotations,
        @Nullable Boolean disabled,
        boolean manual,
        String name,
        String next,
        @Nullable List<Processor> processors,
        @Nullable Schedule schedule) {

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.annotations = annotations;
        builder.criterion = criterion;
        builder.criterionAnnotations = criterionAnnotations;
        builder.disabled = disabled;
        builder.manual = manual;
        builder.name = name;
        builder.next = next;
        builder.processors = processors;
        builder.schedule = schedule;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable Map<String, Json> annotations;
        private @Nullable Condition criterion;
        private @Nullable Map<String, Json> criterionAnnotations;
        private @Nullable Boolean disabled;
        private @Nullable Boolean manual;
        private @Nullable String name;
        private @Nullable String next;
        private @Nullable List<Processor> processors;
        private @Nullable Schedule schedule;

        private Builder() {}

        /** Any JSON object; stored and exported unchanged. */
        public Builder annotations(Map<String, Json> annotations) {
            this.annotations = annotations;
            return this;
        }

        /** The condition under which it may be taken; always if absent. */
        public Builder criterion(Condition criterion) {
            this.criterion = criterion;
            return this;
        }

        /** Any JSON object; stored and exported unchanged. */
        public Builder criterionAnnotations(Map<String, Json> criterionAnnotations) {
            this.criterionAnnotations = criterionAnnotations;
            return this;
        }

        /** Whether it is never taken. */
        public Builder disabled(boolean disabled) {
            this.disabled = disabled;
            return this;
        }

        /** Whether it is taken on request only; otherwise it is automated. */
        public Builder manual(boolean manual) {
            this.manual = manual;
            return this;
        }

        /** Unique in the state. */
        public Builder name(String name) {
            this.name = name;
            return this;
        }

        /** The target state. */
        public Builder next(String next) {
            this.next = next;
            return this;
        }

        /** The processors that run when it is taken, in order. */
        public Builder processors(List<Processor> processors) {
            this.processors = processors;
            return this;
        }

        /** Takes the transition after some time. */
        public Builder schedule(Schedule schedule) {
            this.schedule = schedule;
            return this;
        }

        /** Makes it. */
        public Transition build() {
            return new Transition(
                    annotations,
                    criterion,
                    criterionAnnotations,
                    disabled,
                    Objects.requireNonNull(manual, "manual"),
                    Objects.requireNonNull(name, "name"),
                    Objects.requireNonNull(next, "next"),
                    processors,
                    schedule);
        }
    }
}
