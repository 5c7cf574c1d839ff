// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Request;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Names a client. */
public record ClientSecretResetRequest(
        String clientId) implements Request {

    @Override
    public String eventType() {
        return "ClientSecretResetRequest";
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.clientId = clientId;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable String clientId;

        private Builder() {}

        public Builder clientId(String clientId) {
            this.clientId = clientId;
            return this;
        }

        /** Makes it. */
        public ClientSecretResetRequest build() {
            return new ClientSecretResetRequest(
                    Objects.requireNonNull(clientId, "clientId"));
        }
    }
}
