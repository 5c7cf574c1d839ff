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
public record BundleGetRequest(
        String bundle,
        @Nullable String namespace) implements Request {

    @Override
    public String eventType() {
        return "BundleGetRequest";
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.bundle = bundle;
        builder.namespace = namespace;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable String bundle;
        private @Nullable String namespace;

        private Builder() {}

        public Builder bundle(String bundle) {
            this.bundle = bundle;
            return this;
        }

        /** <code>default</code> if absent. */
        public Builder namespace(String namespace) {
            this.namespace = namespace;
            return this;
        }

        /** Makes it. */
        public BundleGetRequest build() {
            return new BundleGetRequest(
                    Objects.requireNonNull(bundle, "bundle"),
                    namespace);
        }
    }
}
