// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The answer to a request that only names a key.
 *
 * @param id The id of the request's event.
 * @param requestId The id of the request's event.
 * @param warnings What the caller should know, although the request was answered.
 */
public record KeyPairInvalidateResponse(
        String id,
        @Nullable String keyId,
        @Nullable String requestId,
        @Nullable List<String> warnings) {}
