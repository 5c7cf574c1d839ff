// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Request;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The payload of this request.
 *
 * @param gracePeriodSec The grace period for its signatures, in seconds: 0 to 31622400; 0 if absent.
 */
public record KeyPairInvalidateRequest(
        @Nullable Long gracePeriodSec,
        String keyId) implements Request {

    @Override
    public String eventType() {
        return "KeyPairInvalidateRequest";
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.gracePeriodSec = gracePeriodSec;
        builder.keyId = keyId;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable Long gracePeriodSec;
        private @Nullable String keyId;

        private Builder() {}

        /** The grace period for its signatures, in seconds: 0 to 31622400; 0 if absent. */
        public Builder gracePeriodSec(long gracePeriodSec) {
            this.gracePeriodSec = gracePeriodSec;
            return this;
        }

        public Builder keyId(String keyId) {
            this.keyId = keyId;
            return this;
        }

        /** Makes it. */
        public KeyPairInvalidateRequest build() {
            return new KeyPairInvalidateRequest(
                    gracePeriodSec,
                    Objects.requireNonNull(keyId, "keyId"));
        }
    }
}
