// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * An entity that was deleted.
 *
 * @param id The id of the request's event.
 * @param requestId The id of the request's event.
 * @param warnings What the caller should know, although the request was answered.
 */
public record EntityDeleteResponse(
        String entityId,
        String id,
        ModelKey model,
        String requestId,
        String transactionId,
        @Nullable List<String> warnings) {}
