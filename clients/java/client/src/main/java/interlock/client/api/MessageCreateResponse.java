// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A message that was stored.
 *
 * @param entityIds The id of the message.
 * @param id The id of the request's event.
 * @param requestId The id of the request's event.
 * @param warnings What the caller should know, although the request was answered.
 */
public record MessageCreateResponse(
        List<String> entityIds,
        String id,
        String requestId,
        String transactionId,
        @Nullable List<String> warnings) {}
