// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Workflows that were imported.
 *
 * @param id The id of the request's event.
 * @param warnings What the caller should know, although the request was answered.
 * @param workflows The names of the imported workflows.
 */
public record EntityWorkflowImportResponse(
        String id,
        String modelId,
        @Nullable List<String> warnings,
        List<String> workflows) {}
