// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonValue;
import java.time.Instant;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The status of a search that runs on its own.
 *
 * @param entitiesCount How many entities were found; 0 until all are.
 * @param expirationDate Until when its result is kept; an estimate, while it runs.
 * @param finishTime When it ended, if it has.
 */
public record SnapshotStatus(
        @Nullable Long calculationTimeMillis,
        @Nullable Instant createTime,
        @Nullable Long entitiesCount,
        @Nullable Instant expirationDate,
        @Nullable Instant finishTime,
        String snapshotId,
        Status status) {

    /** A text with the values below; a newer server may have others. */
    public record Status(@JsonValue String value) {

        public static final Status RUNNING = new Status("RUNNING");

        public static final Status SUCCESSFUL = new Status("SUCCESSFUL");

        public static final Status FAILED = new Status("FAILED");

        public static final Status CANCELLED = new Status("CANCELLED");

        /** Also for a value that this client does not know. */
        @JsonCreator(mode = JsonCreator.Mode.DELEGATING)
        public Status {
            Objects.requireNonNull(value, "value");
        }

        @Override
        public String toString() {
            return value;
        }
    }
}
