// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The answer to an extension.
 *
 * @param id The id of the request's event.
 * @param warnings What the caller should know, although the request was answered.
 */
public record TaskTouchResponse(
        String id,
        @Nullable Instant until,
        @Nullable List<String> warnings) {}
