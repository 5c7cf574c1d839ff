// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonValue;
import interlock.client.Json;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A change of an entity, or that the result of a live search is complete.
 *
 * @param change Of a live search: what the change did to its result, or that the result is complete.
 * @param changeType What a change did.
 * @param data The document, if it was asked for; a deletion has none.
 * @param id The id of the request's event.
 * @param requestId The id of the request's event.
 * @param sequence The position in the feed. A client that connects again gives the last one that it has
 * seen.
 * @param state After the change; the last one, if the entity was deleted.
 * @param warnings What the caller should know, although the request was answered.
 */
public record EntityChangeEvent(
        @Nullable EntityChangeEventChange change,
        @Nullable ChangeType changeType,
        @Nullable Json data,
        @Nullable String entityId,
        String id,
        @Nullable ModelKey model,
        String requestId,
        @Nullable Long sequence,
        @Nullable String state,
        @Nullable Instant timeOfChange,
        @Nullable String transactionId,
        @Nullable List<String> warnings) implements EntitySearchSubscribeAnswer {

    /** Of a live search: what the change did to its result, or that the result is complete. */
    public record EntityChangeEventChange(@JsonValue String value) {

        public static final EntityChangeEventChange ENTERED = new EntityChangeEventChange("entered");

        public static final EntityChangeEventChange CHANGED = new EntityChangeEventChange("changed");

        public static final EntityChangeEventChange LEFT = new EntityChangeEventChange("left");

        /** Every entity of the result has been sent, as of this sequence. */
        public static final EntityChangeEventChange COMPLETE = new EntityChangeEventChange("complete");

        /** Also for a value that this client does not know. */
        @JsonCreator(mode = JsonCreator.Mode.DELEGATING)
        public EntityChangeEventChange {
            Objects.requireNonNull(value, "value");
        }

        @Override
        public String toString() {
            return value;
        }
    }

    /** What a change did. */
    public record ChangeType(@JsonValue String value) {

        public static final ChangeType CREATE = new ChangeType("CREATE");

        public static final ChangeType UPDATE = new ChangeType("UPDATE");

        public static final ChangeType DELETE = new ChangeType("DELETE");

        /** Also for a value that this client does not know. */
        @JsonCreator(mode = JsonCreator.Mode.DELEGATING)
        public ChangeType {
            Objects.requireNonNull(value, "value");
        }

        @Override
        public String toString() {
            return value;
        }
    }
}
