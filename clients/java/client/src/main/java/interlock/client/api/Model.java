// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonValue;
import java.time.Instant;
import java.util.Objects;

/**
 * A model in a list.
 *
 * @param modelUpdateDate When it was last imported.
 * @param state Entities can be made of a model that is locked; its shape can be changed while it is not.
 */
public record Model(
        String id,
        Instant modelUpdateDate,
        String name,
        ModelState state,
        int version) {

    /** Entities can be made of a model that is locked; its shape can be changed while it is not. */
    public record ModelState(@JsonValue String value) {

        public static final ModelState LOCKED = new ModelState("LOCKED");

        public static final ModelState UNLOCKED = new ModelState("UNLOCKED");

        /** Also for a value that this client does not know. */
        @JsonCreator(mode = JsonCreator.Mode.DELEGATING)
        public ModelState {
            Objects.requireNonNull(value, "value");
        }

        @Override
        public String toString() {
            return value;
        }
    }
}
