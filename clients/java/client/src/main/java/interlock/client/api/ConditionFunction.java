// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Json;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A function of a compute member.
 *
 * @param config How the member is called: <code>calculationNodesTags</code>, <code>attachEntity</code>, <code>context</code>, <code>responseTimeoutMs</code>.
 * @param criterion Evaluated first; if it does not hold, no member is called and the result is false.
 * @param name The name that members register.
 */
public record ConditionFunction(
        @Nullable Map<String, Json> config,
        @Nullable Condition criterion,
        String name) {

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.config = config;
        builder.criterion = criterion;
        builder.name = name;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable Map<String, Json> config;
        private @Nullable Condition criterion;
        private @Nullable String name;

        private Builder() {}

        /** How the member is called: <code>calculationNodesTags</code>, <code>attachEntity</code>, <code>context</code>, <code>responseTimeoutMs</code>. */
        public Builder config(Map<String, Json> config) {
            this.config = config;
            return this;
        }

        /** Evaluated first; if it does not hold, no member is called and the result is false. */
        public Builder criterion(Condition criterion) {
            this.criterion = criterion;
            return this;
        }

        /** The name that members register. */
        public Builder name(String name) {
            this.name = name;
            return this;
        }

        /** Makes it. */
        public ConditionFunction build() {
            return new ConditionFunction(
                    config,
                    criterion,
                    Objects.requireNonNull(name, "name"));
        }
    }
}
