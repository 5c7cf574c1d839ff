// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Json;
import interlock.client.Request;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** The payload of this request. */
public record EntityModelValidateRequest(
        ModelSpec model,
        Json payload) implements Request {

    @Override
    public String eventType() {
        return "EntityModelValidateRequest";
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.model = model;
        builder.payload = payload;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable ModelSpec model;
        private @Nullable Json payload;

        private Builder() {}

        public Builder model(ModelSpec model) {
            this.model = model;
            return this;
        }

        public Builder payload(Json payload) {
            this.payload = payload;
            return this;
        }

        /** Makes it. */
        public EntityModelValidateRequest build() {
            return new EntityModelValidateRequest(
                    Objects.requireNonNull(model, "model"),
                    Objects.requireNonNull(payload, "payload"));
        }
    }
}
