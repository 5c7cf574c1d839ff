// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Count the entities of a model.
 *
 * @param id The id of the request's event.
 * @param requestId The id of the request's event.
 * @param warnings What the caller should know, although the request was answered.
 */
public record EntityStatsResponse(
        long count,
        String id,
        String modelName,
        int modelVersion,
        String requestId,
        @Nullable List<String> warnings) {}
