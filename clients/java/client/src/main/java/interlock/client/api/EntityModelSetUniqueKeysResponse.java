// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonValue;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A model that was changed.
 *
 * @param id The id of the request's event.
 * @param warnings What the caller should know, although the request was answered.
 */
public record EntityModelSetUniqueKeysResponse(
        String id,
        String modelId,
        EntityModelSetUniqueKeysResponseState state,
        @Nullable List<String> warnings) {

    /** A text with the values below; a newer server may have others. */
    public record EntityModelSetUniqueKeysResponseState(@JsonValue String value) {

        public static final EntityModelSetUniqueKeysResponseState LOCKED = new EntityModelSetUniqueKeysResponseState("LOCKED");

        public static final EntityModelSetUniqueKeysResponseState UNLOCKED = new EntityModelSetUniqueKeysResponseState("UNLOCKED");

        public static final EntityModelSetUniqueKeysResponseState EMPTY = new EntityModelSetUniqueKeysResponseState("");

        /** Also for a value that this client does not know. */
        @JsonCreator(mode = JsonCreator.Mode.DELEGATING)
        public EntityModelSetUniqueKeysResponseState {
            Objects.requireNonNull(value, "value");
        }

        @Override
        public String toString() {
            return value;
        }
    }
}
