// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonValue;
import java.time.Instant;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * List the changes of an entity.
 *
 * @param changeType What a change did.
 * @param transactionId Absent from a deletion, as documented; the answer to the deletion names it.
 * @param user To whom it is attributed.
 */
public record ChangeMeta(
        AttributedKind attributedKind,
        ChangeType changeType,
        Executor executedBy,
        Instant timeOfChange,
        @Nullable String transactionId,
        String user) {

    /** A text with the values below; a newer server may have others. */
    public record AttributedKind(@JsonValue String value) {

        public static final AttributedKind USER = new AttributedKind("user");

        public static final AttributedKind SERVICE = new AttributedKind("service");

        public static final AttributedKind SYSTEM = new AttributedKind("system");

        /** Also for a value that this client does not know. */
        @JsonCreator(mode = JsonCreator.Mode.DELEGATING)
        public AttributedKind {
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
