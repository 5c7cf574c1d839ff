// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Json;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * An event of a history.
 *
 * @param data The input, output or payload that it is about.
 * @param position Rises over all runs of the tenant.
 * @param sequence 1, 2, 3… of the run, without gaps.
 */
public record HistoryEvent(
        @Nullable Json data,
        String detail,
        String eventType,
        long position,
        String runId,
        long sequence,
        Instant time) {}
