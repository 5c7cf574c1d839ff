// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A manager that was made.
 *
 * @param id The id of the request's event.
 * @param manager The name of its file, with a stamp.
 * @param warnings What the caller should know, although the request was answered.
 */
public record ManagerCreateResponse(
        String id,
        @Nullable String manager,
        @Nullable String version,
        @Nullable List<String> warnings) {}
