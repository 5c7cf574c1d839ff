// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A file that was written.
 *
 * @param id The id of the request's event.
 * @param version The transaction that wrote it, or of a folder's file the SHA-256 hash of its content. In a
 * transaction it is the version that the file has once that is committed.
 * @param warnings What the caller should know, although the request was answered.
 */
public record FilePutResponse(
        String id,
        @Nullable String path,
        @Nullable String version,
        @Nullable List<String> warnings) {}
