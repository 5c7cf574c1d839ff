// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Json;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * An event of a history.
 *
 * @param data The input, output or payload that it is about.
 * @param id The id of the request's event.
 * @param position Rises over all runs of the tenant.
 * @param requestId The id of the request's event.
 * @param sequence 1, 2, 3… of the run, without gaps.
 * @param warnings What the caller should know, although the request was answered.
 */
public record RunHistoryEvent(
        @Nullable Json data,
        @Nullable String detail,
        @Nullable String eventType,
        String id,
        @Nullable Long position,
        String requestId,
        @Nullable String runId,
        @Nullable Long sequence,
        @Nullable Instant time,
        @Nullable List<String> warnings) {}
