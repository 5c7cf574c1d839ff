// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Request;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The payload of this request.
 *
 * @param cursor The <code>nextCursor</code> of the page before.
 * @param limit How many items, 1 to 1000; 100 if absent.
 * @param name Only tasks of the action of this name.
 * @param namespace <code>default</code> if absent.
 */
public record TasksGetRequest(
        @Nullable String cursor,
        @Nullable Long limit,
        @Nullable String name,
        @Nullable String namespace,
        @Nullable String runId,
        @Nullable List<String> status) implements Request {

    @Override
    public String eventType() {
        return "TasksGetRequest";
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.cursor = cursor;
        builder.limit = limit;
        builder.name = name;
        builder.namespace = namespace;
        builder.runId = runId;
        builder.status = status;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable String cursor;
        private @Nullable Long limit;
        private @Nullable String name;
        private @Nullable String namespace;
        private @Nullable String runId;
        private @Nullable List<String> status;

        private Builder() {}

        /** The <code>nextCursor</code> of the page before. */
        public Builder cursor(String cursor) {
            this.cursor = cursor;
            return this;
        }

        /** How many items, 1 to 1000; 100 if absent. */
        public Builder limit(long limit) {
            this.limit = limit;
            return this;
        }

        /** Only tasks of the action of this name. */
        public Builder name(String name) {
            this.name = name;
            return this;
        }

        /** <code>default</code> if absent. */
        public Builder namespace(String namespace) {
            this.namespace = namespace;
            return this;
        }

        public Builder runId(String runId) {
            this.runId = runId;
            return this;
        }

        public Builder status(List<String> status) {
            this.status = status;
            return this;
        }

        /** Makes it. */
        public TasksGetRequest build() {
            return new TasksGetRequest(
                    cursor,
                    limit,
                    name,
                    namespace,
                    runId,
                    status);
        }
    }
}
