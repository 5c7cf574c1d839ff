// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Request;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** The payload of this request. */
public record MessageGetRequest(
        String messageId) implements Request {

    @Override
    public String eventType() {
        return "MessageGetRequest";
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.messageId = messageId;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable String messageId;

        private Builder() {}

        public Builder messageId(String messageId) {
            this.messageId = messageId;
            return this;
        }

        /** Makes it. */
        public MessageGetRequest build() {
            return new MessageGetRequest(
                    Objects.requireNonNull(messageId, "messageId"));
        }
    }
}
