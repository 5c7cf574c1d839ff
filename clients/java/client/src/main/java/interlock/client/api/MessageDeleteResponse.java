// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Messages that were deleted.
 *
 * @param entityIds The ids that were given.
 * @param id The id of the request's event.
 * @param requestId The id of the request's event.
 * @param warnings What the caller should know, although the request was answered.
 */
public record MessageDeleteResponse(
        List<String> entityIds,
        String id,
        String requestId,
        @Nullable List<String> warnings) {}
