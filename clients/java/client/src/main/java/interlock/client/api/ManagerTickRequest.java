// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Request;
import org.jspecify.annotations.Nullable;

/**
 * The payload of this request.
 *
 * @param namespace <code>default</code> if absent.
 * @param payload Which managers; all that are in progress if absent.
 */
public record ManagerTickRequest(
        @Nullable String namespace,
        @Nullable ManagerTickPayload payload) implements Request {

    @Override
    public String eventType() {
        return "ManagerTickRequest";
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.namespace = namespace;
        builder.payload = payload;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable String namespace;
        private @Nullable ManagerTickPayload payload;

        private Builder() {}

        /** <code>default</code> if absent. */
        public Builder namespace(String namespace) {
            this.namespace = namespace;
            return this;
        }

        /** Which managers; all that are in progress if absent. */
        public Builder payload(ManagerTickPayload payload) {
            this.payload = payload;
            return this;
        }

        /** Makes it. */
        public ManagerTickRequest build() {
            return new ManagerTickRequest(
                    namespace,
                    payload);
        }
    }
}
