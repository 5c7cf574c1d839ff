// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Json;
import org.jspecify.annotations.Nullable;

/**
 * An entity, and what is known about it.
 *
 * @param data The document, as it was written. Absent if <code>success</code> is false.
 * @param meta Absent if <code>success</code> is false.
 */
public record EntityPayload(
        @Nullable Json data,
        @Nullable EntityMeta meta,
        String type) {}
