// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Request;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** The payload of this request. */
public record LogLevelSetRequest(
        String level) implements Request {

    @Override
    public String eventType() {
        return "LogLevelSetRequest";
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.level = level;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable String level;

        private Builder() {}

        public Builder level(String level) {
            this.level = level;
            return this;
        }

        /** Makes it. */
        public LogLevelSetRequest build() {
            return new LogLevelSetRequest(
                    Objects.requireNonNull(level, "level"));
        }
    }
}
