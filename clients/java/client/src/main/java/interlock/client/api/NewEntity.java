// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Json;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

public record NewEntity(
        Json data,
        ModelSpec model) {

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.data = data;
        builder.model = model;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable Json data;
        private @Nullable ModelSpec model;

        private Builder() {}

        public Builder data(Json data) {
            this.data = data;
            return this;
        }

        public Builder model(ModelSpec model) {
            this.model = model;
            return this;
        }

        /** Makes it. */
        public NewEntity build() {
            return new NewEntity(
                    Objects.requireNonNull(data, "data"),
                    Objects.requireNonNull(model, "model"));
        }
    }
}
