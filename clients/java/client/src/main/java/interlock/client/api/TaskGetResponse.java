// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * @param id The id of the request's event.
 * @param warnings What the caller should know, although the request was answered.
 */
public record TaskGetResponse(
        String id,
        @Nullable TaskState task,
        @Nullable List<String> warnings) {}
