// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The processes that use the database.
 *
 * @param id The id of the request's event.
 * @param nodes In the order in which they started.
 * @param requestId The id of the request's event.
 * @param warnings What the caller should know, although the request was answered.
 */
public record NodesGetResponse(
        String id,
        List<ServiceNode> nodes,
        String requestId,
        @Nullable List<String> warnings) {}
