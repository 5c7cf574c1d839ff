// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Which versions of a definition may be started.
 *
 * @param disabledVersions Versions that are disabled one by one.
 * @param enabled Whether the name is enabled.
 * @param id The id of the request's event.
 * @param warnings What the caller should know, although the request was answered.
 */
public record RunDefinitionSetEnabledResponse(
        @Nullable List<String> disabledVersions,
        @Nullable Boolean enabled,
        String id,
        @Nullable String name,
        @Nullable List<String> warnings) {}
