// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * An action that was registered.
 *
 * @param created Whether the name is new.
 * @param id The id of the request's event.
 * @param version How often it was registered.
 * @param warnings What the caller should know, although the request was answered.
 */
public record ActionRegisterResponse(
        @Nullable Boolean created,
        String id,
        @Nullable String name,
        @Nullable Long version,
        @Nullable List<String> warnings) {}
