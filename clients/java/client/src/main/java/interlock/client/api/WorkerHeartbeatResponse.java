// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * How a worker stands.
 *
 * @param draining Whether it gets no more tasks.
 * @param healthy Whether something arrived from it lately.
 * @param id The id of the request's event.
 * @param warnings What the caller should know, although the request was answered.
 */
public record WorkerHeartbeatResponse(
        @Nullable Boolean draining,
        @Nullable Boolean healthy,
        String id,
        @Nullable List<String> warnings,
        @Nullable String workerId) {}
