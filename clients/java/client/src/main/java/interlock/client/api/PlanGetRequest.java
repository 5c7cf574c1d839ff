// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Request;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A plan of a definition.
 *
 * @param namespace <code>default</code> if absent.
 */
public record PlanGetRequest(
        String definition,
        @Nullable String namespace,
        String plan) implements Request {

    @Override
    public String eventType() {
        return "PlanGetRequest";
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.definition = definition;
        builder.namespace = namespace;
        builder.plan = plan;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable String definition;
        private @Nullable String namespace;
        private @Nullable String plan;

        private Builder() {}

        public Builder definition(String definition) {
            this.definition = definition;
            return this;
        }

        /** <code>default</code> if absent. */
        public Builder namespace(String namespace) {
            this.namespace = namespace;
            return this;
        }

        public Builder plan(String plan) {
            this.plan = plan;
            return this;
        }

        /** Makes it. */
        public PlanGetRequest build() {
            return new PlanGetRequest(
                    Objects.requireNonNull(definition, "definition"),
                    namespace,
                    Objects.requireNonNull(plan, "plan"));
        }
    }
}
