// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The transitions that can be requested next.
 *
 * @param availableTransitions The transitions that the state declares where the entity is now.
 * @param id The id of the request's event.
 * @param warnings What the caller should know, although the request was answered.
 */
public record EntityTransitionResponse(
        List<String> availableTransitions,
        String id,
        @Nullable List<String> warnings) {}
