// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Request;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** The payload of this request. */
public record TaskGetRequest(
        String taskId) implements Request {

    @Override
    public String eventType() {
        return "TaskGetRequest";
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.taskId = taskId;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable String taskId;

        private Builder() {}

        public Builder taskId(String taskId) {
            this.taskId = taskId;
            return this;
        }

        /** Makes it. */
        public TaskGetRequest build() {
            return new TaskGetRequest(
                    Objects.requireNonNull(taskId, "taskId"));
        }
    }
}
