// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What became of a signal.
 *
 * @param id The id of the request's event.
 * @param matched Whether a step took it at once; else it is kept for one.
 * @param warnings What the caller should know, although the request was answered.
 */
public record RunSignalResponse(
        String id,
        @Nullable Boolean matched,
        @Nullable String runId,
        @Nullable String status,
        @Nullable String type,
        @Nullable List<String> warnings) {}
