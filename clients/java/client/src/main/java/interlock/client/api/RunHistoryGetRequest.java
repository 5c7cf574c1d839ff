// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Request;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The payload of this request.
 *
 * @param fromSequence The number of the last event that is known; 0 if absent.
 * @param limit How many items, 1 to 1000; 100 if absent.
 */
public record RunHistoryGetRequest(
        @Nullable Long fromSequence,
        @Nullable Long limit,
        String runId) implements Request {

    @Override
    public String eventType() {
        return "RunHistoryGetRequest";
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.fromSequence = fromSequence;
        builder.limit = limit;
        builder.runId = runId;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable Long fromSequence;
        private @Nullable Long limit;
        private @Nullable String runId;

        private Builder() {}

        /** The number of the last event that is known; 0 if absent. */
        public Builder fromSequence(long fromSequence) {
            this.fromSequence = fromSequence;
            return this;
        }

        /** How many items, 1 to 1000; 100 if absent. */
        public Builder limit(long limit) {
            this.limit = limit;
            return this;
        }

        public Builder runId(String runId) {
            this.runId = runId;
            return this;
        }

        /** Makes it. */
        public RunHistoryGetRequest build() {
            return new RunHistoryGetRequest(
                    fromSequence,
                    limit,
                    Objects.requireNonNull(runId, "runId"));
        }
    }
}
