// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonValue;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A definition that is stored.
 *
 * @param change What a creation did.
 * @param digest SHA-256 of the compiled form, in hexadecimal.
 * @param findings The warnings.
 * @param id The id of the request's event.
 * @param warnings What the caller should know, although the request was answered.
 */
public record RunDefinitionCreateResponse(
        @Nullable RunDefinitionCreateResponseChange change,
        @Nullable String digest,
        @Nullable List<Finding> findings,
        String id,
        @Nullable String name,
        @Nullable String version,
        @Nullable List<String> warnings) {

    /** What a creation did. */
    public record RunDefinitionCreateResponseChange(@JsonValue String value) {

        public static final RunDefinitionCreateResponseChange CREATED = new RunDefinitionCreateResponseChange("created");

        public static final RunDefinitionCreateResponseChange UNCHANGED = new RunDefinitionCreateResponseChange("unchanged");

        /** Runs that start from now on follow this document. */
        public static final RunDefinitionCreateResponseChange REPLACED = new RunDefinitionCreateResponseChange("replaced");

        /** Also for a value that this client does not know. */
        @JsonCreator(mode = JsonCreator.Mode.DELEGATING)
        public RunDefinitionCreateResponseChange {
            Objects.requireNonNull(value, "value");
        }

        @Override
        public String toString() {
            return value;
        }
    }
}
