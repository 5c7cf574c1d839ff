// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Request;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The payload of this request.
 *
 * @param providerId A UUID.
 * @param reactivateKeys Whether to accept tokens signed with the keys it had when it was invalidated; if false, only
 * those signed with newer keys. True by default.
 */
public record OidcProviderReactivateRequest(
        String providerId,
        @Nullable Boolean reactivateKeys) implements Request {

    @Override
    public String eventType() {
        return "OidcProviderReactivateRequest";
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.providerId = providerId;
        builder.reactivateKeys = reactivateKeys;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable String providerId;
        private @Nullable Boolean reactivateKeys;

        private Builder() {}

        /** A UUID. */
        public Builder providerId(String providerId) {
            this.providerId = providerId;
            return this;
        }

        /**
         * Whether to accept tokens signed with the keys it had when it was invalidated; if false, only
         * those signed with newer keys. True by default.
         */
        public Builder reactivateKeys(boolean reactivateKeys) {
            this.reactivateKeys = reactivateKeys;
            return this;
        }

        /** Makes it. */
        public OidcProviderReactivateRequest build() {
            return new OidcProviderReactivateRequest(
                    Objects.requireNonNull(providerId, "providerId"),
                    reactivateKeys);
        }
    }
}
