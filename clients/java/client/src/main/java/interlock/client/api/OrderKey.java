// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

public record OrderKey(
        @Nullable Boolean desc,
        String path,
        @Nullable OrderSource source) {

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.desc = desc;
        builder.path = path;
        builder.source = source;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable Boolean desc;
        private @Nullable String path;
        private @Nullable OrderSource source;

        private Builder() {}

        public Builder desc(boolean desc) {
            this.desc = desc;
            return this;
        }

        public Builder path(String path) {
            this.path = path;
            return this;
        }

        public Builder source(OrderSource source) {
            this.source = source;
            return this;
        }

        /** Makes it. */
        public OrderKey build() {
            return new OrderKey(
                    desc,
                    Objects.requireNonNull(path, "path"),
                    source);
        }
    }
}
