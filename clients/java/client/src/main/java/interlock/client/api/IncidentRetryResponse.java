// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * An incident that is closed.
 *
 * @param id The id of the request's event.
 * @param warnings What the caller should know, although the request was answered.
 */
public record IncidentRetryResponse(
        String id,
        @Nullable String incidentId,
        @Nullable List<String> warnings) {}
