// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The answer to a request for every model.
 *
 * @param id The id of the request's event.
 * @param warnings What the caller should know, although the request was answered.
 */
public record EntityModelGetAllResponse(
        String id,
        List<Model> models,
        @Nullable List<String> warnings) {}
