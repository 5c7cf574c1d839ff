// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Json;
import interlock.client.Request;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** The payload of this request. */
public record EntitySnapshotSearchRequest(
        Condition condition,
        ModelSpec model,
        @Nullable List<Json> orderBy,
        @Nullable String pointInTime) implements Request {

    @Override
    public String eventType() {
        return "EntitySnapshotSearchRequest";
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.condition = condition;
        builder.model = model;
        builder.orderBy = orderBy;
        builder.pointInTime = pointInTime;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable Condition condition;
        private @Nullable ModelSpec model;
        private @Nullable List<Json> orderBy;
        private @Nullable String pointInTime;

        private Builder() {}

        public Builder condition(Condition condition) {
            this.condition = condition;
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

        /** Makes it. */
        public EntitySnapshotSearchRequest build() {
            return new EntitySnapshotSearchRequest(
                    Objects.requireNonNull(condition, "condition"),
                    Objects.requireNonNull(model, "model"),
                    orderBy,
                    pointInTime);
        }
    }
}
