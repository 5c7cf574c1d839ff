// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Request;
import org.jspecify.annotations.Nullable;

/** The payload of this request. */
public record WorkersGetRequest(
        @Nullable String cursor,
        @Nullable Long limit,
        @Nullable String namespace) implements Request {

    @Override
    public String eventType() {
        return "WorkersGetRequest";
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
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable String cursor;
        private @Nullable Long limit;
        private @Nullable String namespace;

        private Builder() {}

        public Builder cursor(String cursor) {
            this.cursor = cursor;
            return this;
        }

        public Builder limit(long limit) {
            this.limit = limit;
            return this;
        }

        public Builder namespace(String namespace) {
            this.namespace = namespace;
            return this;
        }

        /** Makes it. */
        public WorkersGetRequest build() {
            return new WorkersGetRequest(
                    cursor,
                    limit,
                    namespace);
        }
    }
}
