// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Json;
import interlock.client.Request;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The payload of this request.
 *
 * @param error Why a task failed.
 * @param output Absent means that the error is the output.
 * @param retry Whether another delivery may help.
 * @param workerId The worker that has the task; if given, another one must not have it.
 */
public record TaskFailRequest(
        TaskFailRequestError error,
        @Nullable Json output,
        @Nullable Boolean retry,
        String taskId,
        @Nullable String workerId) implements Request {

    /** Why a task failed. */
    public record TaskFailRequestError(
            @Nullable String code,
            String message) {

        /** Begins with nothing set. */
        public static Builder builder() {
            return new Builder();
        }

        /** Begins with what this has. */
        public Builder toBuilder() {
            Builder builder = new Builder();
            builder.code = code;
            builder.message = message;
            return builder;
        }

        /** Sets one member after the other. */
        public static final class Builder {

            private @Nullable String code;
            private @Nullable String message;

            private Builder() {}

            public Builder code(String code) {
                this.code = code;
                return this;
            }

            public Builder message(String message) {
                this.message = message;
                return this;
            }

            /** Makes it. */
            public TaskFailRequestError build() {
                return new TaskFailRequestError(
                        code,
                        Objects.requireNonNull(message, "message"));
            }
        }
    }

    @Override
    public String eventType() {
        return "TaskFailRequest";
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.error = error;
        builder.output = output;
        builder.retry = retry;
        builder.taskId = taskId;
        builder.workerId = workerId;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable TaskFailRequestError error;
        private @Nullable Json output;
        private @Nullable Boolean retry;
        private @Nullable String taskId;
        private @Nullable String workerId;

        private Builder() {}

        /** Why a task failed. */
        public Builder error(TaskFailRequestError error) {
            this.error = error;
            return this;
        }

        /** Absent means that the error is the output. */
        public Builder output(Json output) {
            this.output = output;
            return this;
        }

        /** Whether another delivery may help. */
        public Builder retry(boolean retry) {
            this.retry = retry;
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
        public TaskFailRequest build() {
            return new TaskFailRequest(
                    Objects.requireNonNull(error, "error"),
                    output,
                    retry,
                    Objects.requireNonNull(taskId, "taskId"),
                    workerId);
        }
    }
}
