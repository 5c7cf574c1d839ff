// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A run that was started, or that was there already.
 *
 * @param created False if a run has the idempotency key already.
 * @param id The id of the request's event.
 * @param run The run, if it ended while it was waited for.
 * @param warnings What the caller should know, although the request was answered.
 */
public record RunStartResponse(
        @Nullable Boolean created,
        @Nullable RunDefinitionName definition,
        String id,
        @Nullable String kind,
        @Nullable Run run,
        @Nullable String runId,
        @Nullable String status,
        @Nullable List<String> warnings) {}
