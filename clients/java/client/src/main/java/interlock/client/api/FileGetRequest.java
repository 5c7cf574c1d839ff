// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Request;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The payload of this request.
 *
 * @param namespace <code>default</code> if absent.
 */
public record FileGetRequest(
        @Nullable String namespace,
        String path) implements Request {

    @Override
    public String eventType() {
        return "FileGetRequest";
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.namespace = namespace;
        builder.path = path;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable String namespace;
        private @Nullable String path;

        private Builder() {}

        /** <code>default</code> if absent. */
        public Builder namespace(String namespace) {
            this.namespace = namespace;
            return this;
        }

        public Builder path(String path) {
            this.path = path;
            return this;
        }

        /** Makes it. */
        public FileGetRequest build() {
            return new FileGetRequest(
                    namespace,
                    Objects.requireNonNull(path, "path"));
        }
    }
}
