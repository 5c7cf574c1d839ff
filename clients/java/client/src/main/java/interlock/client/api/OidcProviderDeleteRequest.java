// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Request;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A request about one of them.
 *
 * @param providerId A UUID.
 */
public record OidcProviderDeleteRequest(
        String providerId) implements Request {

    @Override
    public String eventType() {
        return "OidcProviderDeleteRequest";
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.providerId = providerId;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable String providerId;

        private Builder() {}

        /** A UUID. */
        public Builder providerId(String providerId) {
            this.providerId = providerId;
            return this;
        }

        /** Makes it. */
        public OidcProviderDeleteRequest build() {
            return new OidcProviderDeleteRequest(
                    Objects.requireNonNull(providerId, "providerId"));
        }
    }
}
