// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Request;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The payload of this request.
 *
 * @param audience <code>client</code> or <code>human</code>.
 */
public record KeyPairGetRequest(
        String audience) implements Request {

    @Override
    public String eventType() {
        return "KeyPairGetRequest";
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.audience = audience;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable String audience;

        private Builder() {}

        /** <code>client</code> or <code>human</code>. */
        public Builder audience(String audience) {
            this.audience = audience;
            return this;
        }

        /** Makes it. */
        public KeyPairGetRequest build() {
            return new KeyPairGetRequest(
                    Objects.requireNonNull(audience, "audience"));
        }
    }
}
