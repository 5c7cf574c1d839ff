// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Request;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** The payload of this request. */
public record EntityGetAllRequest(
        ModelSpec model,
        @Nullable Long pageNumber,
        @Nullable Long pageSize,
        @Nullable String pointInTime) implements Request {

    @Override
    public String eventType() {
        return "EntityGetAllRequest";
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.model = model;
        builder.pageNumber = pageNumber;
        builder.pageSize = pageSize;
        builder.pointInTime = pointInTime;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable ModelSpec model;
        private @Nullable Long pageNumber;
        private @Nullable Long pageSize;
        private @Nullable String pointInTime;

        private Builder() {}

        public Builder model(ModelSpec model) {
            this.model = model;
            return this;
        }

        public Builder pageNumber(long pageNumber) {
            this.pageNumber = pageNumber;
            return this;
        }

        public Builder pageSize(long pageSize) {
            this.pageSize = pageSize;
            return this;
        }

        public Builder pointInTime(String pointInTime) {
            this.pointInTime = pointInTime;
            return this;
        }

        /** Makes it. */
        public EntityGetAllRequest build() {
            return new EntityGetAllRequest(
                    Objects.requireNonNull(model, "model"),
                    pageNumber,
                    pageSize,
                    pointInTime);
        }
    }
}
