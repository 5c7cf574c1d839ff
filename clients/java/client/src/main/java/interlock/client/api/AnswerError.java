// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import org.jspecify.annotations.Nullable;

/** @param code Of a task that is sent as a call of a processor. */
public record AnswerError(
        @Nullable String code,
        @Nullable String message,
        @Nullable Boolean retryable) {

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.code = code;
        builder.message = message;
        builder.retryable = retryable;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable String code;
        private @Nullable String message;
        private @Nullable Boolean retryable;

        private Builder() {}

        /** Of a task that is sent as a call of a processor. */
        public Builder code(String code) {
            this.code = code;
            return this;
        }

        public Builder message(String message) {
            this.message = message;
            return this;
        }

        public Builder retryable(boolean retryable) {
            this.retryable = retryable;
            return this;
        }

        /** Makes it. */
        public AnswerError build() {
            return new AnswerError(
                    code,
                    message,
                    retryable);
        }
    }
}
