// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Json;
import interlock.client.Request;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The payload of this request.
 *
 * @param audience The kind of tokens it signs: <code>client</code> or <code>human</code>.
 * @param invalidateGracePeriodSec For how long those are still trusted, in seconds: 0 to 31622400; 0, if it is not given.
 * @param invalidatePrevious Whether the other keys that the tenant trusts for that audience are invalidated.
 * @param issuers Whose tokens are taken; anybody's, if there are none.
 * @param jwk The public key (RFC 7517): an RSA key of 2048 to 4096 bits.
 * @param keyId The <code>kid</code> of the tokens that it signs: 1 to 128 letters, digits, dots, underscores and
 * hyphens. A key of that name that the tenant trusts already is replaced.
 * @param validFrom The beginning of its validity; now if absent.
 * @param validTo The end of its validity; a default of the settings if absent.
 */
public record TrustedKeyRegisterRequest(
        String audience,
        @Nullable Long invalidateGracePeriodSec,
        @Nullable Boolean invalidatePrevious,
        @Nullable List<String> issuers,
        Map<String, Json> jwk,
        String keyId,
        @Nullable String validFrom,
        @Nullable String validTo) implements Request {

    @Override
    public String eventType() {
        return "TrustedKeyRegisterRequest";
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.audience = audience;
        builder.invalidateGracePeriodSec = invalidateGracePeriodSec;
        builder.invalidatePrevious = invalidatePrevious;
        builder.issuers = issuers;
        builder.jwk = jwk;
        builder.keyId = keyId;
        builder.validFrom = validFrom;
        builder.validTo = validTo;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable String audience;
        private @Nullable Long invalidateGracePeriodSec;
        private @Nullable Boolean invalidatePrevious;
        private @Nullable List<String> issuers;
        private @Nullable Map<String, Json> jwk;
        private @Nullable String keyId;
        private @Nullable String validFrom;
        private @Nullable String validTo;

        private Builder() {}

        /** The kind of tokens it signs: <code>client</code> or <code>human</code>. */
        public Builder audience(String audience) {
            this.audience = audience;
            return this;
        }

        /** For how long those are still trusted, in seconds: 0 to 31622400; 0, if it is not given. */
        public Builder invalidateGracePeriodSec(long invalidateGracePeriodSec) {
            this.invalidateGracePeriodSec = invalidateGracePeriodSec;
            return this;
        }

        /** Whether the other keys that the tenant trusts for that audience are invalidated. */
        public Builder invalidatePrevious(boolean invalidatePrevious) {
            this.invalidatePrevious = invalidatePrevious;
            return this;
        }

        /** Whose tokens are taken; anybody's, if there are none. */
        public Builder issuers(List<String> issuers) {
            this.issuers = issuers;
            return this;
        }

        /** The public key (RFC 7517): an RSA key of 2048 to 4096 bits. */
        public Builder jwk(Map<String, Json> jwk) {
            this.jwk = jwk;
            return this;
        }

        /**
         * The <code>kid</code> of the tokens that it signs: 1 to 128 letters, digits, dots, underscores and
         * hyphens. A key of that name that the tenant trusts already is replaced.
         */
        public Builder keyId(String keyId) {
            this.keyId = keyId;
            return this;
        }

        /** The beginning of its validity; now if absent. */
        public Builder validFrom(String validFrom) {
            this.validFrom = validFrom;
            return this;
        }

        /** The end of its validity; a default of the settings if absent. */
        public Builder validTo(String validTo) {
            this.validTo = validTo;
            return this;
        }

        /** Makes it. */
        public TrustedKeyRegisterRequest build() {
            return new TrustedKeyRegisterRequest(
                    Objects.requireNonNull(audience, "audience"),
                    invalidateGracePeriodSec,
                    invalidatePrevious,
                    issuers,
                    Objects.requireNonNull(jwk, "jwk"),
                    Objects.requireNonNull(keyId, "keyId"),
                    validFrom,
                    validTo);
        }
    }
}
