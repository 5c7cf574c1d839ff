// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonValue;
import java.util.Objects;

/** The <code>LOCK</code> or <code>UNLOCK</code> of a model. */
public record LockChange(@JsonValue String value) {

    public static final LockChange LOCK = new LockChange("LOCK");

    public static final LockChange UNLOCK = new LockChange("UNLOCK");

    /** Also for a value that this client does not know. */
    @JsonCreator(mode = JsonCreator.Mode.DELEGATING)
    public LockChange {
        Objects.requireNonNull(value, "value");
    }

    @Override
    public String toString() {
        return value;
    }
}
