// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Json;
import interlock.client.Request;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The payload of this request.
 *
 * @param limitExceeded What more matches than the limit mean; ours, so that REST can say what it means.
 */
public record EntitySearchRequest(
        Condition condition,
        @Nullable Long limit,
        @Nullable LimitExceeded limitExceeded,
        ModelSpec model,
        @Nullable List<Json> orderBy,
        @Nullable String pointInTime,
        @Nullable Boolean trackingRead) implements Request {

    @Override
    public String eventType() {
        return "EntitySearchRequest";
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.condition = condition;
        builder.limit = limit;
        builder.limitExceeded = limitExceeded;
        builder.model = model;
        builder.orderBy = orderBy;
        builder.pointInTime = pointInTime;
        builder.trackingRead = trackingRead;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable Condition condition;
        private @Nullable Long limit;
        private @Nullable LimitExceeded limitExceeded;
        private @Nullable ModelSpec model;
        private @Nullable List<Json> orderBy;
        private @Nullable String pointInTime;
        private @Nullable Boolean trackingRead;

        private Builder() {}

        public Builder condition(Condition condition) {
            this.condition = condition;
            return this;
        }

        public Builder limit(long limit) {
            this.limit = limit;
            return this;
        }

        /** What more matches than the limit mean; ours, so that REST can say what it means. */
        public Builder limitExceeded(LimitExceeded limitExceeded) {
            this.limitExceeded = limitExceeded;
            return this;
        }

        public Builder model(ModelSpec model) {
            this.model = model;
            return this;
        }

        public Builder orderBy(List<Json> orderBy) {
            this.orderBy = orderBy;
            return this;
        }

        public Builder pointInTime(String pointInTime) {
            this.pointInTime = pointInTime;
            return this;
        }

        public Builder trackingRead(boolean trackingRead) {
            this.trackingRead = trackingRead;
            return this;
        }

        /** Makes it. */
        public EntitySearchRequest build() {
            return new EntitySearchRequest(
                    Objects.requireNonNull(condition, "condition"),
                    limit,
                    limitExceeded,
                    Objects.requireNonNull(model, "model"),
                    orderBy,
                    pointInTime,
                    trackingRead);
        }
    }
}
