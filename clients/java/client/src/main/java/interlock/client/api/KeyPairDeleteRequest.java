// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Request;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Names a key pair, or a trusted key. */
public record KeyPairDeleteRequest(
        String keyId) implements Request {

    @Override
    public String eventType() {
        return "KeyPairDeleteRequest";
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.keyId = keyId;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable String keyId;

        private Builder() {}

        public Builder keyId(String keyId) {
            this.keyId = keyId;
            return this;
        }

        /** Makes it. */
        public KeyPairDeleteRequest build() {
            return new KeyPairDeleteRequest(
                    Objects.requireNonNull(keyId, "keyId"));
        }
    }
}
