// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * @param actions The actions that it does; <code>*</code> stands for all of them.
 * @param labels What tasks may require of it.
 * @param maxConcurrency How many tasks it takes at a time.
 * @param namespace The namespace whose tasks it takes; if absent, <code>default</code>.
 */
public record CalculationMemberJoinEvent(
        @Nullable List<String> actions,
        @Nullable String joinedLegalEntityId,
        @Nullable Map<String, String> labels,
        @Nullable Long maxConcurrency,
        @Nullable String namespace,
        @Nullable List<String> tags) {

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.actions = actions;
        builder.joinedLegalEntityId = joinedLegalEntityId;
        builder.labels = labels;
        builder.maxConcurrency = maxConcurrency;
        builder.namespace = namespace;
        builder.tags = tags;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable List<String> actions;
        private @Nullable String joinedLegalEntityId;
        private @Nullable Map<String, String> labels;
        private @Nullable Long maxConcurrency;
        private @Nullable String namespace;
        private @Nullable List<String> tags;

        private Builder() {}

        /** The actions that it does; <code>*</code> stands for all of them. */
        public Builder actions(List<String> actions) {
            this.actions = actions;
            return this;
        }

        public Builder joinedLegalEntityId(String joinedLegalEntityId) {
            this.joinedLegalEntityId = joinedLegalEntityId;
            return this;
        }

        /** What tasks may require of it. */
        public Builder labels(Map<String, String> labels) {
            this.labels = labels;
            return this;
        }

        /** How many tasks it takes at a time. */
        public Builder maxConcurrency(long maxConcurrency) {
            this.maxConcurrency = maxConcurrency;
            return this;
        }

        /** The namespace whose tasks it takes; if absent, <code>default</code>. */
        public Builder namespace(String namespace) {
            this.namespace = namespace;
            return this;
        }

        public Builder tags(List<String> tags) {
            this.tags = tags;
            return this;
        }

        /** Makes it. */
        public CalculationMemberJoinEvent build() {
            return new CalculationMemberJoinEvent(
                    actions,
                    joinedLegalEntityId,
                    labels,
                    maxConcurrency,
                    namespace,
                    tags);
        }
    }
}
