// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonValue;
import interlock.client.Json;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A model, exported.
 *
 * @param id The id of the request's event.
 * @param payload Empty if <code>success</code> is false.
 * @param warnings What the caller should know, although the request was answered.
 */
public record EntityModelExportResponse(
        String id,
        ModelKey model,
        String modelId,
        Payload payload,
        @Nullable List<String> warnings) {

    /**
     * Empty if <code>success</code> is false.
     *
     * @param currentState Entities can be made of a model that is locked; its shape can be changed while it is not.
     * @param indexes The search indexes.
     * @param model A JSON Schema, or the simple view.
     * @param uniqueKeys The keys of which no two entities may have the same.
     */
    public record Payload(
            @Nullable CurrentState currentState,
            @Nullable List<Index> indexes,
            @Nullable Json model,
            @Nullable List<UniqueKey> uniqueKeys) {

        /** Entities can be made of a model that is locked; its shape can be changed while it is not. */
        public record CurrentState(@JsonValue String value) {

            public static final CurrentState LOCKED = new CurrentState("LOCKED");

            public static final CurrentState UNLOCKED = new CurrentState("UNLOCKED");

            /** Also for a value that this client does not know. */
            @JsonCreator(mode = JsonCreator.Mode.DELEGATING)
            public CurrentState {
                Objects.requireNonNull(value, "value");
            }

            @Override
            public String toString() {
                return value;
            }
        }
    }
}
