// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The answer to a completed task.
 *
 * @param applied Whether the outcome was waited for; if not, it is only recorded.
 * @param id The id of the request's event.
 * @param warnings What the caller should know, although the request was answered.
 */
public record TaskCompleteResponse(
        @Nullable Boolean applied,
        String id,
        @Nullable String taskId,
        @Nullable List<String> warnings) {}
