// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Request;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The payload of this request.
 *
 * @param validFrom Unchanged if absent.
 * @param validTo In the future.
 */
public record KeyPairReactivateRequest(
        String keyId,
        @Nullable String validFrom,
        String validTo) implements Request {

    @Override
    public String eventType() {
        return "KeyPairReactivateRequest";
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.keyId = keyId;
        builder.validFrom = validFrom;
        builder.validTo = validTo;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable String keyId;
        private @Nullable String validFrom;
        private @Nullable String validTo;

        private Builder() {}

        public Builder keyId(String keyId) {
            this.keyId = keyId;
            return this;
        }

        /** Unchanged if absent. */
        public Builder validFrom(String validFrom) {
            this.validFrom = validFrom;
            return this;
        }

        /** In the future. */
        public Builder validTo(String validTo) {
            this.validTo = validTo;
            return this;
        }

        /** Makes it. */
        public KeyPairReactivateRequest build() {
            return new KeyPairReactivateRequest(
                    Objects.requireNonNull(keyId, "keyId"),
                    validFrom,
                    Objects.requireNonNull(validTo, "validTo"));
        }
    }
}
