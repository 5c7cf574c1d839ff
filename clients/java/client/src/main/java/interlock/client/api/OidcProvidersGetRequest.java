// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Request;
import org.jspecify.annotations.Nullable;

/**
 * A request for the list of them.
 *
 * @param activeOnly Whether to omit invalidated ones; false by default.
 */
public record OidcProvidersGetRequest(
        @Nullable Boolean activeOnly) implements Request {

    @Override
    public String eventType() {
        return "OidcProvidersGetRequest";
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.activeOnly = activeOnly;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable Boolean activeOnly;

        private Builder() {}

        /** Whether to omit invalidated ones; false by default. */
        public Builder activeOnly(boolean activeOnly) {
            this.activeOnly = activeOnly;
            return this;
        }

        /** Makes it. */
        public OidcProvidersGetRequest build() {
            return new OidcProvidersGetRequest(
                    activeOnly);
        }
    }
}
