// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Json;
import interlock.client.Request;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The payload of this request.
 *
 * @param content Any JSON, of at most 1 MiB. It is kept as it is written.
 * @param ifMatch The version that the change is based on; an empty text if there must be no file, <code>*</code> if
 * there must be one.
 * @param namespace <code>default</code> if absent.
 * @param path Segments of letters, digits, dots, underscores, colons, spaces and hyphens, each after a
 * slash; at most 512 bytes.
 */
public record FilePutRequest(
        Json content,
        @Nullable String ifMatch,
        @Nullable String namespace,
        String path) implements Request {

    @Override
    public String eventType() {
        return "FilePutRequest";
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.content = content;
        builder.ifMatch = ifMatch;
        builder.namespace = namespace;
        builder.path = path;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable Json content;
        private @Nullable String ifMatch;
        private @Nullable String namespace;
        private @Nullable String path;

        private Builder() {}

        /** Any JSON, of at most 1 MiB. It is kept as it is written. */
        public Builder content(Json content) {
            this.content = content;
            return this;
        }

        /**
         * The version that the change is based on; an empty text if there must be no file, <code>*</code> if
         * there must be one.
         */
        public Builder ifMatch(String ifMatch) {
            this.ifMatch = ifMatch;
            return this;
        }

        /** <code>default</code> if absent. */
        public Builder namespace(String namespace) {
            this.namespace = namespace;
            return this;
        }

        /**
         * Segments of letters, digits, dots, underscores, colons, spaces and hyphens, each after a
         * slash; at most 512 bytes.
         */
        public Builder path(String path) {
            this.path = path;
            return this;
        }

        /** Makes it. */
        public FilePutRequest build() {
            return new FilePutRequest(
                    Objects.requireNonNull(content, "content"),
                    ifMatch,
                    namespace,
                    Objects.requireNonNull(path, "path"));
        }
    }
}
