// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Request;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** The payload of this request. */
public record EntityModelExportRequest(
        Converter converter,
        ModelSpec model) implements Request {

    @Override
    public String eventType() {
        return "EntityModelExportRequest";
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.converter = converter;
        builder.model = model;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable Converter converter;
        private @Nullable ModelSpec model;

        private Builder() {}

        public Builder converter(Converter converter) {
            this.converter = converter;
            return this;
        }

        public Builder model(ModelSpec model) {
            this.model = model;
            return this;
        }

        /** Makes it. */
        public EntityModelExportRequest build() {
            return new EntityModelExportRequest(
                    Objects.requireNonNull(converter, "converter"),
                    Objects.requireNonNull(model, "model"));
        }
    }
}
