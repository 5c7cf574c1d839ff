// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Request;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** The payload of this request. */
public record EntityWorkflowDiagramRequest(
        @Nullable DiagramFormat format,
        ModelSpec model) implements Request {

    @Override
    public String eventType() {
        return "EntityWorkflowDiagramRequest";
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.format = format;
        builder.model = model;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable DiagramFormat format;
        private @Nullable ModelSpec model;

        private Builder() {}

        public Builder format(DiagramFormat format) {
            this.format = format;
            return this;
        }

        public Builder model(ModelSpec model) {
            this.model = model;
            return this;
        }

        /** Makes it. */
        public EntityWorkflowDiagramRequest build() {
            return new EntityWorkflowDiagramRequest(
                    format,
                    Objects.requireNonNull(model, "model"));
        }
    }
}
