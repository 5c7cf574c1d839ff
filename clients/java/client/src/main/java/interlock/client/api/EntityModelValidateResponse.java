// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The result of the validation of a document.
 *
 * @param errorCount How many there are.
 * @param errors The first thousand, or fewer if their paths are long.
 * @param id The id of the request's event.
 * @param warnings What the caller should know, although the request was answered.
 */
public record EntityModelValidateResponse(
        long errorCount,
        List<Violation> errors,
        String id,
        String modelId,
        boolean valid,
        @Nullable List<String> warnings) {}
