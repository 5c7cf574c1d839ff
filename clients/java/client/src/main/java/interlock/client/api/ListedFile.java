// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.time.Instant;

/**
 * A file without its content.
 *
 * @param size The bytes of its content.
 */
public record ListedFile(
        String path,
        long size,
        Instant updatedAt,
        String version) {}
