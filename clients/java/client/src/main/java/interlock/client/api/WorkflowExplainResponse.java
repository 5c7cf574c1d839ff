// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Why an entity moves, moved or would move as it does.
 *
 * @param id The id of the request's event.
 * @param requestId The id of the request's event.
 * @param runs What transactions did, or what one would do.
 * @param transitions The ways out of the state.
 * @param warnings What the caller should know, although the request was answered.
 */
public record WorkflowExplainResponse(
        @Nullable String entityId,
        String id,
        @Nullable ModelKey model,
        @Nullable String requestId,
        @Nullable List<ExplainedRun> runs,
        @Nullable String state,
        @Nullable List<Way> transitions,
        @Nullable List<String> warnings) {}
