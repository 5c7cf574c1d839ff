// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.time.Instant;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A connected compute member.
 *
 * @param actions The actions that it announced.
 * @param failed How many calls it has rejected, or not answered in time.
 * @param inFlight How many calls are out.
 * @param lastSeen When something last came from it.
 * @param maxConcurrency How many tasks it takes at a time, as it announced it.
 * @param namespace The namespace whose tasks it takes, as it announced it.
 * @param node The process it is connected to.
 * @param served How many calls it has answered with success.
 */
public record ComputeMember(
        @Nullable List<String> actions,
        long failed,
        long inFlight,
        Instant joinedAt,
        @Nullable Map<String, String> labels,
        Instant lastSeen,
        @Nullable Long maxConcurrency,
        String memberId,
        @Nullable String namespace,
        String node,
        long served,
        List<String> tags) {}
