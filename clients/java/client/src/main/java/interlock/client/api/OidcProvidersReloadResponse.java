// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The answer to a request for the keys of all providers.
 *
 * @param id The id of the request's event.
 * @param providers The active ones.
 * @param requestId The id of the request's event.
 * @param warnings What the caller should know, although the request was answered.
 */
public record OidcProvidersReloadResponse(
        String id,
        List<ReloadedProvider> providers,
        String requestId,
        @Nullable List<String> warnings) {}
