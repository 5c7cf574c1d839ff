// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonValue;
import interlock.client.Json;
import java.time.Instant;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A task that a worker has taken.
 *
 * @param attempt From 1.
 * @param context The <code>context</code> of the action.
 * @param idempotencyKey The same until a task of the step has been answered: of it the keys of what the worker
 * writes are made.
 * @param leaseUntil When the task is given to another worker, unless it is extended.
 * @param taskId The same for every delivery.
 */
public record TaskTaken(
        long attempt,
        @Nullable String context,
        Instant createdAt,
        String idempotencyKey,
        Json input,
        Kind kind,
        Instant leaseUntil,
        String name,
        String namespace,
        @Nullable String runId,
        String status,
        @Nullable String step,
        String takenBy,
        String taskId) {

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
