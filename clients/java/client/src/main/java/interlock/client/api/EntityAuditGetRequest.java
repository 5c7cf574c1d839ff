// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Request;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The payload of this request.
 *
 * @param cursor How many items to skip, as a decimal number; anything else is 0.
 * @param eventTypes <code>StateMachine</code>, <code>EntityChange</code>, <code>System</code>; others are ignored.
 */
public record EntityAuditGetRequest(
        @Nullable String cursor,
        String entityId,
        @Nullable List<String> eventTypes,
        @Nullable String fromUtcTime,
        @Nullable Long limit,
        @Nullable String severity,
        @Nullable String toUtcTime,
        @Nullable String transactionId) implements Request {

    @Override
    public String eventType() {
        return "EntityAuditGetRequest";
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.cursor = cursor;
        builder.entityId = entityId;
        builder.eventTypes = eventTypes;
        builder.fromUtcTime = fromUtcTime;
        builder.limit = limit;
        builder.severity = severity;
        builder.toUtcTime = toUtcTime;
        builder.transactionId = transactionId;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable String cursor;
        private @Nullable String entityId;
        private @Nullable List<String> eventTypes;
        private @Nullable String fromUtcTime;
        private @Nullable Long limit;
        private @Nullable String severity;
        private @Nullable String toUtcTime;
        private @Nullable String transactionId;

        private Builder() {}

        /** How many items to skip, as a decimal number; anything else is 0. */
        public Builder cursor(String cursor) {
            this.cursor = cursor;
            return this;
        }

        public Builder entityId(String entityId) {
            this.entityId = entityId;
            return this;
        }

        /** <code>StateMachine</code>, <code>EntityChange</code>, <code>System</code>; others are ignored. */
        public Builder eventTypes(List<String> eventTypes) {
            this.eventTypes = eventTypes;
            return this;
        }

        public Builder fromUtcTime(String fromUtcTime) {
            this.fromUtcTime = fromUtcTime;
            return this;
        }

        public Builder limit(long limit) {
            this.limit = limit;
            return this;
        }

        public Builder severity(String severity) {
            this.severity = severity;
            return this;
        }

        public Builder toUtcTime(String toUtcTime) {
            this.toUtcTime = toUtcTime;
            return this;
        }

        public Builder transactionId(String transactionId) {
            this.transactionId = transactionId;
            return this;
        }

        /** Makes it. */
        public EntityAuditGetRequest build() {
            return new EntityAuditGetRequest(
                    cursor,
                    Objects.requireNonNull(entityId, "entityId"),
                    eventTypes,
                    fromUtcTime,
                    limit,
                    severity,
                    toUtcTime,
                    transactionId);
        }
    }
}
