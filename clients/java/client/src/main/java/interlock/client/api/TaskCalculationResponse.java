// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Json;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * What a member answers to a task.
 *
 * @param outcome Absent means <code>success</code>; <code>pending</code>: accepted, the outcome is reported by <code>TaskComplete</code>.
 * @param output Absent means <code>{}</code>.
 */
public record TaskCalculationResponse(
        @Nullable String outcome,
        @Nullable Json output,
        String requestId,
        @Nullable List<String> warnings) {

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.outcome = outcome;
        builder.output = output;
        builder.requestId = requestId;
        builder.warnings = warnings;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable String outcome;
        private @Nullable Json output;
        private @Nullable String requestId;
        private @Nullable List<String> warnings;

        private Builder() {}

        /** Absent means <code>success</code>; <code>pending</code>: accepted, the outcome is reported by <code>TaskComplete</code>. */
        public Builder outcome(String outcome) {
            this.outcome = outcome;
            return this;
        }

        /** Absent means <code>{}</code>. */
        public Builder output(Json output) {
            this.output = output;
            return this;
        }

        public Builder requestId(String requestId) {
            this.requestId = requestId;
            return this;
        }

        public Builder warnings(List<String> warnings) {
            this.warnings = warnings;
            return this;
        }

        /** Makes it. */
        public TaskCalculationResponse build() {
            return new TaskCalculationResponse(
                    outcome,
                    output,
                    Objects.requireNonNull(requestId, "requestId"),
                    warnings);
        }
    }
}
