// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * What is known of a message beside its content.
 *
 * @param contentLength In bytes; the length of the content if absent.
 */
public record Header(
        @Nullable String contentEncoding,
        @Nullable Long contentLength,
        @Nullable String contentType,
        @Nullable String correlationId,
        @Nullable String messageId,
        @Nullable String recipient,
        @Nullable String replyTo,
        String subject,
        @Nullable String userId) {

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.contentEncoding = contentEncoding;
        builder.contentLength = contentLength;
        builder.contentType = contentType;
        builder.correlationId = correlationId;
        builder.messageId = messageId;
        builder.recipient = recipient;
        builder.replyTo = replyTo;
        builder.subject = subject;
        builder.userId = userId;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable String contentEncoding;
        private @Nullable Long contentLength;
        private @Nullable String contentType;
        private @Nullable String correlationId;
        private @Nullable String messageId;
        private @Nullable String recipient;
        private @Nullable String replyTo;
        private @Nullable String subject;
        private @Nullable String userId;

        private Builder() {}

        public Builder contentEncoding(String contentEncoding) {
            this.contentEncoding = contentEncoding;
            return this;
        }

        /** In bytes; the length of the content if absent. */
        public Builder contentLength(long contentLength) {
            this.contentLength = contentLength;
            return this;
        }

        public Builder contentType(String contentType) {
            this.contentType = contentType;
            return this;
        }

        public Builder correlationId(String correlationId) {
            this.correlationId = correlationId;
            return this;
        }

        public Builder messageId(String messageId) {
            this.messageId = messageId;
            return this;
        }

        public Builder recipient(String recipient) {
            this.recipient = recipient;
            return this;
        }

        public Builder replyTo(String replyTo) {
            this.replyTo = replyTo;
            return this;
        }

        public Builder subject(String subject) {
            this.subject = subject;
            return this;
        }

        public Builder userId(String userId) {
            this.userId = userId;
            return this;
        }

        /** Makes it. */
        public Header build() {
            return new Header(
                    contentEncoding,
                    contentLength,
                    contentType,
                    correlationId,
                    messageId,
                    recipient,
                    replyTo,
                    Objects.requireNonNull(subject, "subject"),
                    userId);
        }
    }
}
