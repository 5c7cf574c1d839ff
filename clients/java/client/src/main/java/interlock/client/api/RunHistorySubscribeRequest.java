// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Request;
import org.jspecify.annotations.Nullable;

/**
 * The payload of this request.
 *
 * @param definition The runs of one definition; without either, all runs of the namespace.
 * @param fromSequence With <code>runId</code> the last <code>sequence</code> received, else the last <code>position</code>; absent for new events
 * only.
 * @param namespace <code>default</code> if absent.
 * @param runId One run; its answer ends with the run.
 */
public record RunHistorySubscribeRequest(
        @Nullable String definition,
        @Nullable Long fromSequence,
        @Nullable String namespace,
        @Nullable String runId) implements Request {

    @Override
    public String eventType() {
        return "RunHistorySubscribeRequest";
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.definition = definition;
        builder.fromSequence = fromSequence;
        builder.namespace = namespace;
        builder.runId = runId;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable String definition;
        private @Nullable Long fromSequence;
        private @Nullable String namespace;
        private @Nullable String runId;

        private Builder() {}

        /** The runs of one definition; without either, all runs of the namespace. */
        public Builder definition(String definition) {
            this.definition = definition;
            return this;
        }

        /**
         * With <code>runId</code> the last <code>sequence</code> received, else the last <code>position</code>; absent for new events
         * only.
         */
        public Builder fromSequence(long fromSequence) {
            this.fromSequence = fromSequence;
            return this;
        }

        /** <code>default</code> if absent. */
        public Builder namespace(String namespace) {
            this.namespace = namespace;
            return this;
        }

        /** One run; its answer ends with the run. */
        public Builder runId(String runId) {
            this.runId = runId;
            return this;
        }

        /** Makes it. */
        public RunHistorySubscribeRequest build() {
            return new RunHistorySubscribeRequest(
                    definition,
                    fromSequence,
                    namespace,
                    runId);
        }
    }
}
