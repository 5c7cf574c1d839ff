// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Request;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** The payload of this request. */
public record EntityModelSetIndexesRequest(
        List<IndexSpec> indexes,
        ModelSpec model) implements Request {

    @Override
    public String eventType() {
        return "EntityModelSetIndexesRequest";
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.indexes = indexes;
        builder.model = model;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable List<IndexSpec> indexes;
        private @Nullable ModelSpec model;

        private Builder() {}

        public Builder indexes(List<IndexSpec> indexes) {
            this.indexes = indexes;
            return this;
        }

        public Builder model(ModelSpec model) {
            this.model = model;
            return this;
        }

        /** Makes it. */
        public EntityModelSetIndexesRequest build() {
            return new EntityModelSetIndexesRequest(
                    Objects.requireNonNull(indexes, "indexes"),
                    Objects.requireNonNull(model, "model"));
        }
    }
}
