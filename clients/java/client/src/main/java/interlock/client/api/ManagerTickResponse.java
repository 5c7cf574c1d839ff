// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What a tick has done.
 *
 * @param id The id of the request's event.
 * @param registry The names of the files of managers by list: to-do, in-progress, done, paused.
 * @param warnings What the caller should know, although the request was answered.
 */
public record ManagerTickResponse(
        String id,
        @Nullable List<ManagerTicked> processed,
        @Nullable Map<String, List<String>> registry,
        @Nullable List<String> warnings) {}
