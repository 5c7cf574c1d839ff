// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The tasks that a worker has taken; none when the time is over.
 *
 * @param id The id of the request's event.
 * @param warnings What the caller should know, although the request was answered.
 */
public record TaskAwaitResponse(
        String id,
        @Nullable List<TaskTaken> tasks,
        @Nullable List<String> warnings) {}
