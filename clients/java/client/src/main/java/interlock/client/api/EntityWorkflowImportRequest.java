// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Request;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** The payload of this request. */
public record EntityWorkflowImportRequest(
        @Nullable Boolean allowCycles,
        @Nullable String importMode,
        ModelSpec model,
        @Nullable List<Workflow> workflows) implements Request {

    @Override
    public String eventType() {
        return "EntityWorkflowImportRequest";
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.allowCycles = allowCycles;
        builder.importMode = importMode;
        builder.model = model;
        builder.workflows = workflows;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable Boolean allowCycles;
        private @Nullable String importMode;
        private @Nullable ModelSpec model;
        private @Nullable List<Workflow> workflows;

        private Builder() {}

        public Builder allowCycles(boolean allowCycles) {
            this.allowCycles = allowCycles;
            return this;
        }

        public Builder importMode(String importMode) {
            this.importMode = importMode;
            return this;
        }

        public Builder model(ModelSpec model) {
            this.model = model;
            return this;
        }

        public Builder workflows(List<Workflow> workflows) {
            this.workflows = workflows;
            return this;
        }

        /** Makes it. */
        public EntityWorkflowImportRequest build() {
            return new EntityWorkflowImportRequest(
                    allowCycles,
                    importMode,
                    Objects.requireNonNull(model, "model"),
                    workflows);
        }
    }
}
