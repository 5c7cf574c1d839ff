// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What there is to say about a document.
 *
 * @param id The id of the request's event.
 * @param nextFires When its schedule would start runs next.
 * @param warnings What the caller should know, although the request was answered.
 */
public record RunDefinitionValidateResponse(
        @Nullable List<Finding> findings,
        String id,
        @Nullable List<Instant> nextFires,
        @Nullable Boolean valid,
        @Nullable List<String> warnings) {}
