// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Json;
import interlock.client.Request;
import org.jspecify.annotations.Nullable;

/** The payload of this request. */
public record WorkflowExplainRequest(
        @Nullable Json data,
        @Nullable String entityId,
        @Nullable ModelSpec model,
        @Nullable String state,
        @Nullable String transactionId,
        @Nullable String transition) implements Request {

    @Override
    public String eventType() {
        return "WorkflowExplainRequest";
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.data = data;
        builder.entityId = entityId;
        builder.model = model;
        builder.state = state;
        builder.transactionId = transactionId;
        builder.transition = transition;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable Json data;
        private @Nullable String entityId;
        private @Nullable ModelSpec model;
        private @Nullable String state;
        private @Nullable String transactionId;
        private @Nullable String transition;

        private Builder() {}

        public Builder data(Json data) {
            this.data = data;
            return this;
        }

        public Builder entityId(String entityId) {
            this.entityId = entityId;
            return this;
        }

        public Builder model(ModelSpec model) {
            this.model = model;
            return this;
        }

        public Builder state(String state) {
            this.state = state;
            return this;
        }

        public Builder transactionId(String transactionId) {
            this.transactionId = transactionId;
            return this;
        }

        public Builder transition(String transition) {
            this.transition = transition;
            return this;
        }

        /** Makes it. */
        public WorkflowExplainRequest build() {
            return new WorkflowExplainRequest(
                    data,
                    entityId,
                    model,
                    state,
                    transactionId,
                    transition);
        }
    }
}
