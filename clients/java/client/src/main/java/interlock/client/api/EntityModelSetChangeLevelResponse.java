// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonValue;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The change level of a model.
 *
 * @param id The id of the request's event.
 * @param warnings What the caller should know, although the request was answered.
 */
public record EntityModelSetChangeLevelResponse(
        ChangeLevel changeLevel,
        String id,
        String modelId,
        @Nullable List<String> warnings) {

    /** A text with the values below; a newer server may have others. */
    public record ChangeLevel(@JsonValue String value) {

        public static final ChangeLevel ARRAY_LENGTH = new ChangeLevel("ARRAY_LENGTH");

        public static final ChangeLevel ARRAY_ELEMENTS = new ChangeLevel("ARRAY_ELEMENTS");

        public static final ChangeLevel TYPE = new ChangeLevel("TYPE");

        public static final ChangeLevel STRUCTURAL = new ChangeLevel("STRUCTURAL");

        public static final ChangeLevel EMPTY = new ChangeLevel("");

        /** Also for a value that this client does not know. */
        @JsonCreator(mode = JsonCreator.Mode.DELEGATING)
        public ChangeLevel {
            Objects.requireNonNull(value, "value");
        }

        @Override
        public String toString() {
            return value;
        }
    }
}
