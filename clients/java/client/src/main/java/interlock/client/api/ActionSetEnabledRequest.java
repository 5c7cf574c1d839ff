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
public record ActionSetEnabledRequest(
        boolean enabled,
        String name,
        @Nullable String namespace) implements Request {

    @Override
    public String eventType() {
        return "ActionSetEnabledRequest";
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
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable Boolean enabled;
        private @Nullable String name;
        private @Nullable String namespace;

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

        /** Makes it. */
        public ActionSetEnabledRequest build() {
            return new ActionSetEnabledRequest(
                    Objects.requireNonNull(enabled, "enabled"),
                    Objects.requireNonNull(name, "name"),
                    namespace);
        }
    }
}
