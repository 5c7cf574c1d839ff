// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * An index as requests name it.
 *
 * @param path The path of a scalar, or of the elements of a list: <code>$.a.b</code>, <code>$.lines[*].sku</code>.
 */
public record IndexSpec(
        String path) {

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.path = path;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable String path;

        private Builder() {}

        /** The path of a scalar, or of the elements of a list: <code>$.a.b</code>, <code>$.lines[*].sku</code>. */
        public Builder path(String path) {
            this.path = path;
            return this;
        }

        /** Makes it. */
        public IndexSpec build() {
            return new IndexSpec(
                    Objects.requireNonNull(path, "path"));
        }
    }
}
