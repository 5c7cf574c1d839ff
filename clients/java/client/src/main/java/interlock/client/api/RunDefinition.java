// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A definition.
 *
 * @param bundle Of a saga: the bundle that declares it.
 * @param createdAt When the version was created.
 * @param description Lists show the first 1024 bytes.
 * @param enabled Whether the name is enabled; single versions may be disabled all the same.
 * @param kind <code>flo</code> or <code>saga</code>.
 * @param version The latest version, or the one that was asked for.
 * @param versions In the order in which they were created.
 */
public record RunDefinition(
        @Nullable String bundle,
        Instant createdAt,
        String description,
        boolean enabled,
        String kind,
        String name,
        String version,
        List<String> versions) {}
