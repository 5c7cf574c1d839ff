// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import org.jspecify.annotations.Nullable;

/** A function of a compute member that computes the time. */
public record ScheduleFunction(
        @Nullable Boolean attachEntity,
        @Nullable String calculationNodesTags,
        @Nullable String context,
        @Nullable String name,
        @Nullable Long responseTimeoutMs,
        @Nullable String resultKind) {

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.attachEntity = attachEntity;
        builder.calculationNodesTags = calculationNodesTags;
        builder.context = context;
        builder.name = name;
        builder.responseTimeoutMs = responseTimeoutMs;
        builder.resultKind = resultKind;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable Boolean attachEntity;
        private @Nullable String calculationNodesTags;
        private @Nullable String context;
        private @Nullable String name;
        private @Nullable Long responseTimeoutMs;
        private @Nullable String resultKind;

        private Builder() {}

        public Builder attachEntity(boolean attachEntity) {
            this.attachEntity = attachEntity;
            return this;
        }

        public Builder calculationNodesTags(String calculationNodesTags) {
            this.calculationNodesTags = calculationNodesTags;
            return this;
        }

        public Builder context(String context) {
            this.context = context;
            return this;
        }

        public Builder name(String name) {
            this.name = name;
            return this;
        }

        public Builder responseTimeoutMs(long responseTimeoutMs) {
            this.responseTimeoutMs = responseTimeoutMs;
            return this;
        }

        public Builder resultKind(String resultKind) {
            this.resultKind = resultKind;
            return this;
        }

        /** Makes it. */
        public ScheduleFunction build() {
            return new ScheduleFunction(
                    attachEntity,
                    calculationNodesTags,
                    context,
                    name,
                    responseTimeoutMs,
                    resultKind);
        }
    }
}
