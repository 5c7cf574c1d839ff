// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Json;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The workflows of a model.
 *
 * @param id The id of the request's event.
 * @param warnings What the caller should know, although the request was answered.
 * @param workflows As they were imported, of which the schema of the import says the form; criteria keep the
 * spelling that they were given in.
 */
public record EntityWorkflowExportResponse(
        String id,
        ModelKey model,
        @Nullable List<String> warnings,
        List<Map<String, Json>> workflows) {}
