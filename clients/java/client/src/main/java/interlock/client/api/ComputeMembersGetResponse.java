// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The connected compute members of the tenant.
 *
 * @param id The id of the request's event.
 * @param members In the order in which they joined.
 * @param requestId The id of the request's event.
 * @param warnings What the caller should know, although the request was answered.
 */
public record ComputeMembersGetResponse(
        String id,
        List<ComputeMember> members,
        String requestId,
        @Nullable List<String> warnings) {}
