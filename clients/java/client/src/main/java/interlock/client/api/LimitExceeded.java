// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonValue;
import java.util.Objects;

/** A text with the values below; a newer server may have others. */
public record LimitExceeded(@JsonValue String value) {

    public static final LimitExceeded FAIL = new LimitExceeded("FAIL");

    public static final LimitExceeded TRUNCATE = new LimitExceeded("TRUNCATE");

    /** Also for a value that this client does not know. */
    @JsonCreator(mode = JsonCreator.Mode.DELEGATING)
    public LimitExceeded {
        Objects.requireNonNull(value, "value");
    }

    @Override
    public String toString() {
        return value;
    }
}
