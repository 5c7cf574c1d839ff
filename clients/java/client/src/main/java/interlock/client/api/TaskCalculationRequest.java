// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonValue;
import interlock.client.Json;
import java.time.Instant;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A task, as a member is sent it.
 *
 * @param attempt From 1.
 * @param context The <code>context</code> of the action.
 * @param deadline When the task counts as not answered.
 * @param definition The definition of a run.
 * @param idempotencyKey The same until a task of the step has been answered.
 * @param name The action, the connector, or the worker of a manager.
 * @param requestId New for every delivery; the answer names it.
 * @param taskId The same for every delivery.
 */
public record TaskCalculationRequest(
        long attempt,
        @Nullable String context,
        Instant deadline,
        @Nullable Definition definition,
        String id,
        String idempotencyKey,
        Json input,
        Kind kind,
        String name,
        String namespace,
        String requestId,
        @Nullable String runId,
        @Nullable String step,
        boolean success,
        String taskId) {

    /** The definition of a run. */
    public record Definition(
            String name,
            String version) {}

    /** A text with the values below; a newer server may have others. */
    public record Kind(@JsonValue String value) {

        public static final Kind ACTION = new Kind("action");

        public static final Kind CONNECTOR = new Kind("connector");

        public static final Kind ITEM = new Kind("item");

        /** Also for a value that this client does not know. */
        @JsonCreator(mode = JsonCreator.Mode.DELEGATING)
        public Kind {
            Objects.requireNonNull(value, "value");
        }

        @Override
        public String toString() {
            return value;
        }
    }
}
