// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonValue;
import java.util.Objects;

/** Who made a change: the one to whom it is attributed, or another on behalf of that one. */
public record Executor(
        String id,
        Kind kind) {

    /** A text with the values below; a newer server may have others. */
    public record Kind(@JsonValue String value) {

        public static final Kind USER = new Kind("user");

        public static final Kind SERVICE = new Kind("service");

        public static final Kind SYSTEM = new Kind("system");

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
