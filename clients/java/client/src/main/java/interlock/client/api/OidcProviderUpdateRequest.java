// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Request;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A change: absent members stay, and <code>null</code> or an empty list removes the value.
 *
 * @param providerId A UUID.
 * @param wellKnownConfigUri Cannot be changed: the present value, or absent.
 */
public record OidcProviderUpdateRequest(
        @Nullable List<String> expectedAudiences,
        @Nullable List<String> issuers,
        String providerId,
        @Nullable String rolesClaim,
        @Nullable String wellKnownConfigUri) implements Request {

    @Override
    public String eventType() {
        return "OidcProviderUpdateRequest";
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.expectedAudiences = expectedAudiences;
        builder.issuers = issuers;
        builder.providerId = providerId;
        builder.rolesClaim = rolesClaim;
        builder.wellKnownConfigUri = wellKnownConfigUri;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable List<String> expectedAudiences;
        private @Nullable List<String> issuers;
        private @Nullable String providerId;
        private @Nullable String rolesClaim;
        private @Nullable String wellKnownConfigUri;

        private Builder() {}

        public Builder expectedAudiences(List<String> expectedAudiences) {
            this.expectedAudiences = expectedAudiences;
            return this;
        }

        public Builder issuers(List<String> issuers) {
            this.issuers = issuers;
            return this;
        }

        /** A UUID. */
        public Builder providerId(String providerId) {
            this.providerId = providerId;
            return this;
        }

        public Builder rolesClaim(String rolesClaim) {
            this.rolesClaim = rolesClaim;
            return this;
        }

        /** Cannot be changed: the present value, or absent. */
        public Builder wellKnownConfigUri(String wellKnownConfigUri) {
            this.wellKnownConfigUri = wellKnownConfigUri;
            return this;
        }

        /** Makes it. */
        public OidcProviderUpdateRequest build() {
            return new OidcProviderUpdateRequest(
                    expectedAudiences,
                    issuers,
                    Objects.requireNonNull(providerId, "providerId"),
                    rolesClaim,
                    wellKnownConfigUri);
        }
    }
}
