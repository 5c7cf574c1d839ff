// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Json;
import interlock.client.Request;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The payload of this request.
 *
 * @param outcome Absent means <code>success</code>.
 * @param output Absent means <code>{}</code>.
 * @param workerId The worker that has the task; if given, another one must not have it.
 */
public record TaskCompleteRequest(
        @Nullable String outcome,
        @Nullable Json output,
        String taskId,
        @Nullable String workerId) implements Request {

    @Override
    public String eventType() {
        return "TaskCompleteRequest";
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.outcome = outcome;
        builder.output = output;
        builder.taskId = taskId;
        builder.workerId = workerId;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable String outcome;
        private @Nullable Json output;
        private @Nullable String taskId;
        private @Nullable String workerId;

        private Builder() {}

        /** Absent means <code>success</code>. */
        public Builder outcome(String outcome) {
            this.outcome = outcome;
            return this;
        }

        /** Absent means <code>{}</code>. */
        public Builder output(Json output) {
            this.output = output;
            return this;
        }

        public Builder taskId(String taskId) {
            this.taskId = taskId;
            return this;
        }

        /** The worker that has the task; if given, another one must not have it. */
        public Builder workerId(String workerId) {
            this.workerId = workerId;
            return this;
        }

        /** Makes it. */
        public TaskCompleteRequest build() {
            return new TaskCompleteRequest(
                    outcome,
                    output,
                    Objects.requireNonNull(taskId, "taskId"),
                    workerId);
        }
    }
}
