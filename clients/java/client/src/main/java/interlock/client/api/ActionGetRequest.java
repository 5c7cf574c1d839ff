// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Request;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * An action by its name.
 *
 * @param namespace <code>default</code> if absent.
 */
public record ActionGetRequest(
        String name,
        @Nullable String namespace) implements Request {

    @Override
    public String eventType() {
        return "ActionGetRequest";
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.name = name;
        builder.namespace = namespace;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable String name;
        private @Nullable String namespace;

        private Builder() {}

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
        public ActionGetRequest build() {
            return new ActionGetRequest(
                    Objects.requireNonNull(name, "name"),
                    namespace);
        }
    }
}
