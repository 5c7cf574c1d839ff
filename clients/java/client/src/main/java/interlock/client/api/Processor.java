// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Json;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A call to a compute member when the transition is taken, or a timer.
 *
 * @param annotations Any JSON object; stored and exported unchanged.
 * @param config How the member is called.
 * @param executionMode <code>SYNC</code>, <code>ASYNC_SAME_TX</code>, <code>ASYNC_NEW_TX</code> or <code>COMMIT_BEFORE_DISPATCH</code>.
 * @param name The name that members register.
 * @param startNewTxOnDispatch Whether the member may write in a new transaction (<code>COMMIT_BEFORE_DISPATCH</code> only).
 * @param type <code>EXTERNAL</code> calls a member, <code>scheduled</code> takes a transition later, <code>run</code> starts a run of a
 * step workflow and <code>signal</code> sends a signal to the runs of the entity.
 */
public record Processor(
        @Nullable Map<String, Json> annotations,
        @Nullable ProcessorConfig config,
        @Nullable String executionMode,
        String name,
        @Nullable Boolean startNewTxOnDispatch,
        @Nullable String type) {

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.annotations = annotations;
        builder.config = config;
        builder.executionMode = executionMode;
        builder.name = name;
        builder.startNewTxOnDispatch = startNewTxOnDispatch;
        builder.type = type;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable Map<String, Json> annotations;
        private @Nullable ProcessorConfig config;
        private @Nullable String executionMode;
        private @Nullable String name;
        private @Nullable Boolean startNewTxOnDispatch;
        private @Nullable String type;

        private Builder() {}

        /** Any JSON object; stored and exported unchanged. */
        public Builder annotations(Map<String, Json> annotations) {
            this.annotations = annotations;
            return this;
        }

        /** How the member is called. */
        public Builder config(ProcessorConfig config) {
            this.config = config;
            return this;
        }

        /** <code>SYNC</code>, <code>ASYNC_SAME_TX</code>, <code>ASYNC_NEW_TX</code> or <code>COMMIT_BEFORE_DISPATCH</code>. */
        public Builder executionMode(String executionMode) {
            this.executionMode = executionMode;
            return this;
        }

        /** The name that members register. */
        public Builder name(String name) {
            this.name = name;
            return this;
        }

        /** Whether the member may write in a new transaction (<code>COMMIT_BEFORE_DISPATCH</code> only). */
        public Builder startNewTxOnDispatch(boolean startNewTxOnDispatch) {
            this.startNewTxOnDispatch = startNewTxOnDispatch;
            return this;
        }

        /**
         * <code>EXTERNAL</code> calls a member, <code>scheduled</code> takes a transition later, <code>run</code> starts a run of a
         * step workflow and <code>signal</code> sends a signal to the runs of the entity.
         */
        public Builder type(String type) {
            this.type = type;
            return this;
        }

        /** Makes it. */
        public Processor build() {
            return new Processor(
                    annotations,
                    config,
                    executionMode,
                    Objects.requireNonNull(name, "name"),
                    startNewTxOnDispatch,
                    type);
        }
    }
}
