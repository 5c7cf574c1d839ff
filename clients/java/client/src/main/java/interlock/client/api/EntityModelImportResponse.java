// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A model that was imported.
 *
 * @param id The id of the request's event.
 * @param modelId Made of name and version: the same everywhere.
 * @param warnings What the caller should know, although the request was answered.
 */
public record EntityModelImportResponse(
        String id,
        String modelId,
        @Nullable List<String> warnings) {}
