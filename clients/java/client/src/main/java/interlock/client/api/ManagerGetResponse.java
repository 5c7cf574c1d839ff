// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Json;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A manager as it is written.
 *
 * @param id The id of the request's event.
 * @param warnings What the caller should know, although the request was answered.
 */
public record ManagerGetResponse(
        @Nullable Json document,
        String id,
        @Nullable String manager,
        @Nullable String version,
        @Nullable List<String> warnings) {}
