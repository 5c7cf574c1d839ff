// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Json;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * What a member says it has done.
 *
 * @param entityId That of the request; it is not checked.
 * @param matches Of a criterion.
 * @param resultKind Of a function.
 */
public record EntityProcessorCalculationResponse(
        @Nullable String entityId,
        @Nullable Boolean matches,
        @Nullable AnswerPayload payload,
        @Nullable String reason,
        String requestId,
        @Nullable Json result,
        @Nullable String resultKind,
        @Nullable List<String> warnings) {

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.entityId = entityId;
        builder.matches = matches;
        builder.payload = payload;
        builder.reason = reason;
        builder.requestId = requestId;
        builder.result = result;
        builder.resultKind = resultKind;
        builder.warnings = warnings;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable String entityId;
        private @Nullable Boolean matches;
        private @Nullable AnswerPayload payload;
        private @Nullable String reason;
        private @Nullable String requestId;
        private @Nullable Json result;
        private @Nullable String resultKind;
        private @Nullable List<String> warnings;

        private Builder() {}

        /** That of the request; it is not checked. */
        public Builder entityId(String entityId) {
            this.entityId = entityId;
            return this;
        }

        /** Of a criterion. */
        public Builder matches(boolean matches) {
            this.matches = matches;
            return this;
        }

        public Builder payload(AnswerPayload payload) {
            this.payload = payload;
            return this;
        }

        public Builder reason(String reason) {
            this.reason = reason;
            return this;
        }

        public Builder requestId(String requestId) {
            this.requestId = requestId;
            return this;
        }

        public Builder result(Json result) {
            this.result = result;
            return this;
        }

        /** Of a function. */
        public Builder resultKind(String resultKind) {
            this.resultKind = resultKind;
            return this;
        }

        public Builder warnings(List<String> warnings) {
            this.warnings = warnings;
            return this;
        }

        /** Makes it. */
        public EntityProcessorCalculationResponse build() {
            return new EntityProcessorCalculationResponse(
                    entityId,
                    matches,
                    payload,
                    reason,
                    Objects.requireNonNull(requestId, "requestId"),
                    result,
                    resultKind,
                    warnings);
        }
    }
}
