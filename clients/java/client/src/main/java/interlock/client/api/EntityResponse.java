// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The answer that is an entity.
 *
 * @param id The id of the request's event.
 * @param requestId The id of the request's event.
 * @param warnings What the caller should know, although the request was answered.
 */
public record EntityResponse(
        String id,
        EntityPayload payload,
        String requestId,
        @Nullable List<String> warnings) implements EntitySearchSubscribeAnswer {}
