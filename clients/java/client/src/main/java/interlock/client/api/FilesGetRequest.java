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
 * @param prefix What the paths begin with; <code>/</code> if absent.
 */
public record FilesGetRequest(
        @Nullable String cursor,
        @Nullable Long limit,
        @Nullable String namespace,
        @Nullable String prefix) implements Request {

    @Override
    public String eventType() {
        return "FilesGetRequest";
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
        builder.prefix = prefix;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable String cursor;
        private @Nullable Long limit;
        private @Nullable String namespace;
        private @Nullable String prefix;

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

        /** What the paths begin with; <code>/</code> if absent. */
        public Builder prefix(String prefix) {
            this.prefix = prefix;
            return this;
        }

        /** Makes it. */
        public FilesGetRequest build() {
            return new FilesGetRequest(
                    cursor,
                    limit,
                    namespace,
                    prefix);
        }
    }
}
