// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Json;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A file.
 *
 * @param content The JSON, as it was written.
 * @param id The id of the request's event.
 * @param updatedBy Who wrote it last; <code>folder</code> of a file in a folder.
 * @param warnings What the caller should know, although the request was answered.
 */
public record FileGetResponse(
        @Nullable Json content,
        String id,
        @Nullable String path,
        @Nullable Instant updatedAt,
        @Nullable String updatedBy,
        @Nullable String version,
        @Nullable List<String> warnings) {}
