// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonValue;
import java.util.Objects;

/** The language of a picture. */
public record DiagramFormat(@JsonValue String value) {

    public static final DiagramFormat MERMAID = new DiagramFormat("mermaid");

    public static final DiagramFormat DOT = new DiagramFormat("dot");

    /** Also for a value that this client does not know. */
    @JsonCreator(mode = JsonCreator.Mode.DELEGATING)
    public DiagramFormat {
        Objects.requireNonNull(value, "value");
    }

    @Override
    public String toString() {
        return value;
    }
}
