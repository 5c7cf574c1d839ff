// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * List the transitions of an entity's state.
 *
 * @param id The id of the request's event.
 * @param requestId The id of the request's event.
 * @param warnings What the caller should know, although the request was answered.
 */
public record EntityTransitionsGetResponse(
        String id,
        String requestId,
        List<String> transitions,
        @Nullable List<String> warnings) {}
