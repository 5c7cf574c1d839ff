// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** The name and version of a model. */
public record ModelSpec(
        String name,
        int version) {

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.name = name;
        builder.version = version;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable String name;
        private @Nullable Integer version;

        private Builder() {}

        public Builder name(String name) {
            this.name = name;
            return this;
        }

        public Builder version(int version) {
            this.version = version;
            return this;
        }

        /** Makes it. */
        public ModelSpec build() {
            return new ModelSpec(
                    Objects.requireNonNull(name, "name"),
                    Objects.requireNonNull(version, "version"));
        }
    }
}
