// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Request;
import org.jspecify.annotations.Nullable;

/**
 * The payload of this request.
 *
 * @param cursor The <code>nextCursor</code> of the page before.
 * @param limit How many items, 1 to 1000; 100 if absent.
 * @param namespace <code>default</code> if absent.
 * @param status Only managers of this status: to-do, in-progress, done, paused or error.
 */
public record ManagersGetRequest(
        @Nullable String cursor,
        @Nullable Long limit,
        @Nullable String namespace,
        @Nullable String status) implements Request {

    @Override
    public String eventType() {
        return "ManagersGetRequest";
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
        builder.namespace = namespace;
        builder.status = status;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable String cursor;
        private @Nullable Long limit;
        private @Nullable String namespace;
        private @Nullable String status;

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

        /** <code>default</code> if absent. */
        public Builder namespace(String namespace) {
            this.namespace = namespace;
            return this;
        }

        /** Only managers of this status: to-do, in-progress, done, paused or error. */
        public Builder status(String status) {
            this.status = status;
            return this;
        }

        /** Makes it. */
        public ManagersGetRequest build() {
            return new ManagersGetRequest(
                    cursor,
                    limit,
                    namespace,
                    status);
        }
    }
}
