// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Request;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The payload of this request.
 *
 * @param namespace <code>default</code> if absent.
 * @param version The whole name if absent.
 */
public record RunDefinitionSetEnabledRequest(
        boolean enabled,
        String name,
        @Nullable String namespace,
        @Nullable String version) implements Request {

    @Override
    public String eventType() {
        return "RunDefinitionSetEnabledRequest";
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.enabled = enabled;
        builder.name = name;
        builder.namespace = namespace;
        builder.version = version;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable Boolean enabled;
        private @Nullable String name;
        private @Nullable String namespace;
        private @Nullable String version;

        private Builder() {}

        public Builder enabled(boolean enabled) {
            this.enabled = enabled;
            return this;
        }

        public Builder name(String name) {
            this.name = name;
            return this;
        }

        /** <code>default</code> if absent. */
        public Builder namespace(String namespace) {
            this.namespace = namespace;
            return this;
        }

        /** The whole name if absent. */
        public Builder version(String version) {
            this.version = version;
            return this;
        }

        /** Makes it. */
        public RunDefinitionSetEnabledRequest build() {
            return new RunDefinitionSetEnabledRequest(
                    Objects.requireNonNull(enabled, "enabled"),
                    Objects.requireNonNull(name, "name"),
                    namespace,
                    version);
        }
    }
}
