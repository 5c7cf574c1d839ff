// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The answer to a failed task.
 *
 * @param applied Whether the failure was waited for; if not, it is only recorded.
 * @param id The id of the request's event.
 * @param warnings What the caller should know, although the request was answered.
 * @param willRetry Whether the task is delivered again.
 */
public record TaskFailResponse(
        @Nullable Boolean applied,
        String id,
        @Nullable String taskId,
        @Nullable List<String> warnings,
        @Nullable Boolean willRetry) {}
