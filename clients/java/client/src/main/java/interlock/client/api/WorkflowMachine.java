// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A state machine of a bundle.
 *
 * @param namespace The namespace of its bundle.
 */
public record WorkflowMachine(
        String name,
        String namespace) {

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

        /** The namespace of its bundle. */
        public Builder namespace(String namespace) {
            this.namespace = namespace;
            return this;
        }

        /** Makes it. */
        public WorkflowMachine build() {
            return new WorkflowMachine(
                    Objects.requireNonNull(name, "name"),
                    Objects.requireNonNull(namespace, "namespace"));
        }
    }
}
