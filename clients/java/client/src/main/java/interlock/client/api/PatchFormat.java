// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonValue;
import java.util.Objects;

/** A text with the values below; a newer server may have others. */
public record PatchFormat(@JsonValue String value) {

    /** RFC 7386. */
    public static final PatchFormat MERGE_PATCH = new PatchFormat("MERGE_PATCH");

    /** RFC 6902. */
    public static final PatchFormat JSON_PATCH = new PatchFormat("JSON_PATCH");

    /** Also for a value that this client does not know. */
    @JsonCreator(mode = JsonCreator.Mode.DELEGATING)
    public PatchFormat {
        Objects.requireNonNull(value, "value");
    }

    @Override
    public String toString() {
        return value;
    }
}
