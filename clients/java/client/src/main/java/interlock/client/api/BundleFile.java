// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A file of a bundle.
 *
 * @param path The name under which findings show it.
 */
public record BundleFile(
        String path,
        String text) {

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.path = path;
        builder.text = text;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable String path;
        private @Nullable String text;

        private Builder() {}

        /** The name under which findings show it. */
        public Builder path(String path) {
            this.path = path;
            return this;
        }

        public Builder text(String text) {
            this.text = text;
            return this;
        }

        /** Makes it. */
        public BundleFile build() {
            return new BundleFile(
                    Objects.requireNonNull(path, "path"),
                    Objects.requireNonNull(text, "text"));
        }
    }
}
