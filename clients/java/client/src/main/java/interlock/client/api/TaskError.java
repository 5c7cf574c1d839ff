// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import org.jspecify.annotations.Nullable;

/**
 * Why a task failed.
 *
 * @param retryable Whether another delivery may help.
 */
public record TaskError(
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

        public Builder code(String code) {
            this.code = code;
            return this;
        }

        public Builder message(String message) {
            this.message = message;
            return this;
        }

        /** Whether another delivery may help. */
        public Builder retryable(boolean retryable) {
            this.retryable = retryable;
            return this;
        }

        /** Makes it. */
        public TaskError build() {
            return new TaskError(
                    code,
                    message,
                    retryable);
        }
    }
}
