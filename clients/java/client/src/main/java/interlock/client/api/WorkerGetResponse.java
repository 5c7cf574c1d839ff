// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Json;
import java.math.BigDecimal;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A worker, or a member on its stream.
 *
 * @param id The id of the request's event.
 * @param lastSeen When something last arrived from it.
 * @param load What it reported last, from 0 to 1.
 * @param running How many tasks it has.
 * @param stream Whether it is a member, which is sent its tasks on a stream.
 * @param tags Of a member.
 * @param warnings What the caller should know, although the request was answered.
 * @param workerId Of a member its <code>memberId</code>.
 */
public record WorkerGetResponse(
        @Nullable List<String> actions,
        @Nullable Boolean draining,
        @Nullable Boolean healthy,
        String id,
        @Nullable Map<String, String> labels,
        @Nullable Instant lastSeen,
        @Nullable BigDecimal load,
        @Nullable String machineId,
        @Nullable Long maxConcurrency,
        @Nullable Json metadata,
        @Nullable String namespace,
        @Nullable Long running,
        @Nullable Boolean stream,
        @Nullable List<String> tags,
        @Nullable List<String> warnings,
        @Nullable String workerId) {}
