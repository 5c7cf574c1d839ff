// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Json;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A row or an entity that an event has moved to another state.
 *
 * @param actionResult The result of the action, if there is one.
 * @param id The id of the request's event.
 * @param warnings What the caller should know, although the request was answered.
 */
public record MachineTransitionResponse(
        @Nullable Json actionResult,
        @Nullable String currentState,
        @Nullable String entityId,
        @Nullable String event,
        String id,
        @Nullable String machine,
        @Nullable String previousState,
        @Nullable List<String> warnings) {}
