// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Request;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** One message, which must be there, or any number, which need not. */
public record MessageDeleteRequest(
        @Nullable String messageId,
        @Nullable List<String> messageIds) implements Request {

    @Override
    public String eventType() {
        return "MessageDeleteRequest";
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.messageId = messageId;
        builder.messageIds = messageIds;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable String messageId;
        private @Nullable List<String> messageIds;

        private Builder() {}

        public Builder messageId(String messageId) {
            this.messageId = messageId;
            return this;
        }

        public Builder messageIds(List<String> messageIds) {
            this.messageIds = messageIds;
            return this;
        }

        /** Makes it. */
        public MessageDeleteRequest build() {
            return new MessageDeleteRequest(
                    messageId,
                    messageIds);
        }
    }
}
