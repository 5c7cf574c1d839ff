// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Request;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The payload of this request.
 *
 * @param manager The name of its file.
 * @param namespace <code>default</code> if absent.
 */
public record ManagerGetRequest(
        String manager,
        @Nullable String namespace) implements Request {

    @Override
    public String eventType() {
        return "ManagerGetRequest";
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.manager = manager;
        builder.namespace = namespace;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable String manager;
        private @Nullable String namespace;

        private Builder() {}

        /** The name of its file. */
        public Builder manager(String manager) {
            this.manager = manager;
            return this;
        }

        /** <code>default</code> if absent. */
        public Builder namespace(String namespace) {
            this.namespace = namespace;
            return this;
        }

        /** Makes it. */
        public ManagerGetRequest build() {
            return new ManagerGetRequest(
                    Objects.requireNonNull(manager, "manager"),
                    namespace);
        }
    }
}
