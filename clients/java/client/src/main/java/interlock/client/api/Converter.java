// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonValue;
import java.util.Objects;

/** How a sample is read or a model written. */
public record Converter(@JsonValue String value) {

    public static final Converter SAMPLE_DATA = new Converter("SAMPLE_DATA");

    public static final Converter SIMPLE_VIEW = new Converter("SIMPLE_VIEW");

    public static final Converter JSON_SCHEMA = new Converter("JSON_SCHEMA");

    /** Also for a value that this client does not know. */
    @JsonCreator(mode = JsonCreator.Mode.DELEGATING)
    public Converter {
        Objects.requireNonNull(value, "value");
    }

    @Override
    public String toString() {
        return value;
    }
}
