// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The search indexes of a model.
 *
 * @param id The id of the request's event.
 * @param warnings What the caller should know, although the request was answered.
 */
public record EntityModelSetIndexesResponse(
        String id,
        @Nullable List<Index> indexes,
        @Nullable String modelId,
        @Nullable List<String> warnings) {}
