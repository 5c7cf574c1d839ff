// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonValue;
import interlock.client.Json;
import java.time.Instant;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Something that happened to an entity.
 *
 * @param actor To whom the change is attributed.
 * @param changeType What a change did.
 * @param data The same, for programs.
 * @param details In words.
 * @param eventType <code>STATE_MACHINE_START</code>, <code>TRANSITION_MAKE</code> and so on.
 * @param microsTime The same instant, in microseconds since 1970.
 */
public record AuditEvent(
        @Nullable Actor actor,
        AuditEventType auditEventType,
        @Nullable ChangeType changeType,
        @Nullable Json data,
        @Nullable String details,
        @Nullable String entityId,
        @Nullable String eventType,
        @Nullable Executor executedBy,
        long microsTime,
        String severity,
        @Nullable String state,
        @Nullable Boolean system,
        @Nullable String transactionId,
        Instant utcTime) {

    /** To whom the change is attributed. */
    public record Actor(
            String id,
            String legalId,
            String name) {}

    /** A text with the values below; a newer server may have others. */
    public record AuditEventType(@JsonValue String value) {

        public static final AuditEventType ENTITY_CHANGE = new AuditEventType("EntityChange");

        public static final AuditEventType STATE_MACHINE = new AuditEventType("StateMachine");

        /** Also for a value that this client does not know. */
        @JsonCreator(mode = JsonCreator.Mode.DELEGATING)
        public AuditEventType {
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
