// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The answer to a registration.
 *
 * @param heartbeatMs How often a heartbeat is expected.
 * @param id The id of the request's event.
 * @param warnings What the caller should know, although the request was answered.
 */
public record WorkerRegisterResponse(
        @Nullable Long heartbeatMs,
        String id,
        @Nullable List<String> warnings,
        @Nullable String workerId) {}
