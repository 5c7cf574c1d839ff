// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A page of the audit trail of an entity, the newest event first.
 *
 * @param id The id of the request's event.
 * @param requestId The id of the request's event.
 * @param warnings What the caller should know, although the request was answered.
 */
public record EntityAuditGetResponse(
        String id,
        @Nullable List<AuditEvent> items,
        @Nullable Pagination pagination,
        @Nullable String requestId,
        @Nullable List<String> warnings) {

    /** @param nextCursor The <code>cursor</code> of the next page. */
    public record Pagination(
            boolean hasNext,
            @Nullable String nextCursor) {}
}
