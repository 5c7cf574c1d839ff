// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The last event of the workflow run of a transaction.
 *
 * @param id The id of the request's event.
 * @param requestId The id of the request's event.
 * @param warnings What the caller should know, although the request was answered.
 */
public record EntityAuditFinishedGetResponse(
        String id,
        @Nullable AuditEvent item,
        @Nullable String requestId,
        @Nullable List<String> warnings) {}
