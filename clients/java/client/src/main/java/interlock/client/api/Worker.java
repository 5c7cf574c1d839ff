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
 * @param lastSeen When something last arrived from it.
 * @param load What it reported last, from 0 to 1.
 * @param running How many tasks it has.
 * @param stream Whether it is a member, which is sent its tasks on a stream.
 * @param tags Of a member.
 * @param workerId Of a member its <code>memberId</code>.
 */
public record Worker(
        List<String> actions,
        boolean draining,
        boolean healthy,
        Map<String, String> labels,
        Instant lastSeen,
        @Nullable BigDecimal load,
        @Nullable String machineId,
        long maxConcurrency,
        @Nullable Json metadata,
        String namespace,
        long running,
        boolean stream,
        @Nullable List<String> tags,
        String workerId) {}
