// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Json;
import interlock.client.Request;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The payload of this request.
 *
 * @param extendMs From now, in milliseconds, at most 300000. If absent, 30000; a lease is then not extended
 * beyond the time that the delivery may take.
 * @param progress How far the task is, at most 4 KiB.
 * @param workerId The worker that has the task; if given, another one must not have it.
 */
public record TaskTouchRequest(
        @Nullable Long extendMs,
        @Nullable Json progress,
        String taskId,
        @Nullable String workerId) implements Request {

    @Override
    public String eventType() {
        return "TaskTouchRequest";
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.extendMs = extendMs;
        builder.progress = progress;
        builder.taskId = taskId;
        builder.workerId = workerId;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable Long extendMs;
        private @Nullable Json progress;
        private @Nullable String taskId;
        private @Nullable String workerId;

        private Builder() {}

        /**
         * From now, in milliseconds, at most 300000. If absent, 30000; a lease is then not extended
         * beyond the time that the delivery may take.
         */
        public Builder extendMs(long extendMs) {
            this.extendMs = extendMs;
            return this;
        }

        /** How far the task is, at most 4 KiB. */
        public Builder progress(Json progress) {
            this.progress = progress;
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
        public TaskTouchRequest build() {
            return new TaskTouchRequest(
                    extendMs,
                    progress,
                    Objects.requireNonNull(taskId, "taskId"),
                    workerId);
        }
    }
}
