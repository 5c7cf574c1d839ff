// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The answer about a search that runs on its own.
 *
 * @param id The id of the request's event.
 * @param warnings What the caller should know, although the request was answered.
 */
public record EntitySnapshotSearchResponse(
        String id,
        SnapshotStatus status,
        @Nullable List<String> warnings) {}
