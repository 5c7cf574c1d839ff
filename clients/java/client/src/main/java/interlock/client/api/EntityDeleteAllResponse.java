// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The entities of a model that were deleted.
 *
 * @param entityIds The deleted entities, if <code>verbose</code> was true.
 * @param errorsById Why entities that matched were not deleted, by their ids.
 * @param id The id of the request's event.
 * @param requestId The id of the request's event.
 * @param warnings What the caller should know, although the request was answered.
 */
public record EntityDeleteAllResponse(
        List<String> entityIds,
        @Nullable Map<String, String> errorsById,
        String id,
        String modelId,
        long numDeleted,
        String requestId,
        @Nullable List<String> warnings) {}
