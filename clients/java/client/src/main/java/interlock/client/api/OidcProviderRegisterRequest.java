// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Request;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The payload of this request.
 *
 * @param expectedAudiences The accepted audiences; without any, all.
 * @param issuers The accepted issuers; without any, the issuer of the document.
 * @param rolesClaim The claim with the roles; if absent, that of the settings.
 * @param wellKnownConfigUri The address of the discovery document, for instance
 * <code>https://id.example/.well-known/openid-configuration</code>.
 */
public record OidcProviderRegisterRequest(
        @Nullable List<String> expectedAudiences,
        @Nullable List<String> issuers,
        @Nullable String rolesClaim,
        String wellKnownConfigUri) implements Request {

    @Override
    public String eventType() {
        return "OidcProviderRegisterRequest";
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
        builder.rolesClaim = rolesClaim;
        builder.wellKnownConfigUri = wellKnownConfigUri;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable List<String> expectedAudiences;
        private @Nullable List<String> issuers;
        private @Nullable String rolesClaim;
        private @Nullable String wellKnownConfigUri;

        private Builder() {}

        /** The accepted audiences; without any, all. */
        public Builder expectedAudiences(List<String> expectedAudiences) {
            this.expectedAudiences = expectedAudiences;
            return this;
        }

        /** The accepted issuers; without any, the issuer of the document. */
        public Builder issuers(List<String> issuers) {
            this.issuers = issuers;
            return this;
        }

        /** The claim with the roles; if absent, that of the settings. */
        public Builder rolesClaim(String rolesClaim) {
            this.rolesClaim = rolesClaim;
            return this;
        }

        /**
         * The address of the discovery document, for instance
         * <code>https://id.example/.well-known/openid-configuration</code>.
         */
        public Builder wellKnownConfigUri(String wellKnownConfigUri) {
            this.wellKnownConfigUri = wellKnownConfigUri;
            return this;
        }

        /** Makes it. */
        public OidcProviderRegisterRequest build() {
            return new OidcProviderRegisterRequest(
                    expectedAudiences,
                    issuers,
                    rolesClaim,
                    Objects.requireNonNull(wellKnownConfigUri, "wellKnownConfigUri"));
        }
    }
}
