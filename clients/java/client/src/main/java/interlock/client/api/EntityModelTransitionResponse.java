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
public record EntityModelTransitionResponse(
        String id,
        String modelId,
        EntityModelTransitionResponseState state,
        @Nullable List<String> warnings) {

    /** A text with the values below; a newer server may have others. */
    public record EntityModelTransitionResponseState(@JsonValue String value) {

        public static final EntityModelTransitionResponseState LOCKED = new EntityModelTransitionResponseState("LOCKED");

        public static final EntityModelTransitionResponseState UNLOCKED = new EntityModelTransitionResponseState("UNLOCKED");

        public static final EntityModelTransitionResponseState EMPTY = new EntityModelTransitionResponseState("");

        /** Also for a value that this client does not know. */
        @JsonCreator(mode = JsonCreator.Mode.DELEGATING)
        public EntityModelTransitionResponseState {
            Objects.requireNonNull(value, "value");
        }

        @Override
        public String toString() {
            return value;
        }
    }
}
