// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Json;
import org.jspecify.annotations.Nullable;

public record AnswerPayload(
        @Nullable Json data) {

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.data = data;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable Json data;

        private Builder() {}

        public Builder data(Json data) {
            this.data = data;
            return this;
        }

        /** Makes it. */
        public AnswerPayload build() {
            return new AnswerPayload(
                    data);
        }
    }
}
