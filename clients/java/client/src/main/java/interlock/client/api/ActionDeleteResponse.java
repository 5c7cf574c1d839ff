// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * An action that was deleted.
 *
 * @param id The id of the request's event.
 * @param warnings What the caller should know, although the request was answered.
 */
public record ActionDeleteResponse(
        String id,
        @Nullable String name,
        @Nullable List<String> warnings) {}
