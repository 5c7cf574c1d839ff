// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Request;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The payload of this request.
 *
 * @param algorithm <code>RS256</code>.
 * @param audience The kind of tokens it signs: <code>client</code> or <code>human</code>.
 * @param invalidateCurrent Whether to invalidate the pair that signs for that audience now.
 * @param invalidateGracePeriodSec The grace period for the signatures of that pair, in seconds: 0 to 31622400; 0 if absent.
 * @param validFrom The beginning of its validity; now if absent.
 * @param validTo The end of its validity; a default of the settings if absent.
 */
public record KeyPairIssueRequest(
        String algorithm,
        String audience,
        @Nullable Boolean invalidateCurrent,
        @Nullable Long invalidateGracePeriodSec,
        @Nullable String validFrom,
        @Nullable String validTo) implements Request {

    @Override
    public String eventType() {
        return "KeyPairIssueRequest";
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.algorithm = algorithm;
        builder.audience = audience;
        builder.invalidateCurrent = invalidateCurrent;
        builder.invalidateGracePeriodSec = invalidateGracePeriodSec;
        builder.validFrom = validFrom;
        builder.validTo = validTo;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable String algorithm;
        private @Nullable String audience;
        private @Nullable Boolean invalidateCurrent;
        private @Nullable Long invalidateGracePeriodSec;
        private @Nullable String validFrom;
        private @Nullable String validTo;

        private Builder() {}

        /** <code>RS256</code>. */
        public Builder algorithm(String algorithm) {
            this.algorithm = algorithm;
            return this;
        }

        /** The kind of tokens it signs: <code>client</code> or <code>human</code>. */
        public Builder audience(String audience) {
            this.audience = audience;
            return this;
        }

        /** Whether to invalidate the pair that signs for that audience now. */
        public Builder invalidateCurrent(boolean invalidateCurrent) {
            this.invalidateCurrent = invalidateCurrent;
            return this;
        }

        /** The grace period for the signatures of that pair, in seconds: 0 to 31622400; 0 if absent. */
        public Builder invalidateGracePeriodSec(long invalidateGracePeriodSec) {
            this.invalidateGracePeriodSec = invalidateGracePeriodSec;
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
        public KeyPairIssueRequest build() {
            return new KeyPairIssueRequest(
                    Objects.requireNonNull(algorithm, "algorithm"),
                    Objects.requireNonNull(audience, "audience"),
                    invalidateCurrent,
                    invalidateGracePeriodSec,
                    validFrom,
                    validTo);
        }
    }
}
