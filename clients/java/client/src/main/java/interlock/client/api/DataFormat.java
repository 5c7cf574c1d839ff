// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonValue;
import java.util.Objects;

/** The format of a document in a payload. */
public record DataFormat(@JsonValue String value) {

    public static final DataFormat XML = new DataFormat("XML");

    /** Also what an empty text means. */
    public static final DataFormat JSON = new DataFormat("JSON");

    /** Also for a value that this client does not know. */
    @JsonCreator(mode = JsonCreator.Mode.DELEGATING)
    public DataFormat {
        Objects.requireNonNull(value, "value");
    }

    @Override
    public String toString() {
        return value;
    }
}
