// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Which managers a tick is about.
 *
 * @param managers The names of their files.
 * @param statePath The path of the file of one.
 */
public record ManagerTickPayload(
        @Nullable List<String> managers,
        @JsonProperty("state_path") @Nullable String statePath) {

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.managers = managers;
        builder.statePath = statePath;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable List<String> managers;
        private @Nullable String statePath;

        private Builder() {}

        /** The names of their files. */
        public Builder managers(List<String> managers) {
            this.managers = managers;
            return this;
        }

        /** The path of the file of one. */
        public Builder statePath(String statePath) {
            this.statePath = statePath;
            return this;
        }

        /** Makes it. */
        public ManagerTickPayload build() {
            return new ManagerTickPayload(
                    managers,
                    statePath);
        }
    }
}
