// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Request;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Strict: what it does not know was meant to say something. */
public record EntityStatsQueryRequest(
        @Nullable List<Aggregation> aggregations,
        @Nullable Condition condition,
        @Nullable List<String> groupBy,
        @Nullable Long limit,
        ModelSpec model,
        @Nullable String pointInTime) implements Request {

    @Override
    public String eventType() {
        return "EntityStatsQueryRequest";
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.aggregations = aggregations;
        builder.condition = condition;
        builder.groupBy = groupBy;
        builder.limit = limit;
        builder.model = model;
        builder.pointInTime = pointInTime;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable List<Aggregation> aggregations;
        private @Nullable Condition condition;
        private @Nullable List<String> groupBy;
        private @Nullable Long limit;
        private @Nullable ModelSpec model;
        private @Nullable String pointInTime;

        private Builder() {}

        public Builder aggregations(List<Aggregation> aggregations) {
            this.aggregations = aggregations;
            return this;
        }

        public Builder condition(Condition condition) {
            this.condition = condition;
            return this;
        }

        public Builder groupBy(List<String> groupBy) {
            this.groupBy = groupBy;
            return this;
        }

        public Builder limit(long limit) {
            this.limit = limit;
            return this;
        }

        public Builder model(ModelSpec model) {
            this.model = model;
            return this;
        }

        public Builder pointInTime(String pointInTime) {
            this.pointInTime = pointInTime;
            return this;
        }

        /** Makes it. */
        public EntityStatsQueryRequest build() {
            return new EntityStatsQueryRequest(
                    aggregations,
                    condition,
                    groupBy,
                    limit,
                    Objects.requireNonNull(model, "model"),
                    pointInTime);
        }
    }
}
