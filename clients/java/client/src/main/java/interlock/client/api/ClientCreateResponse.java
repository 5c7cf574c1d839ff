// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The credentials with which a client gets tokens.
 *
 * @param clientSecret In this answer and in no other: only its hash is stored.
 * @param clientSecretExpiresAt 0: never.
 * @param grantType The only way in which a client gets a token for itself.
 * @param id The id of the request's event.
 * @param requestId The id of the request's event.
 * @param warnings What the caller should know, although the request was answered.
 */
public record ClientCreateResponse(
        @Nullable String clientId,
        @Nullable String clientSecret,
        @Nullable Long clientSecretExpiresAt,
        @Nullable String grantType,
        String id,
        @Nullable String requestId,
        @Nullable List<String> roles,
        @Nullable List<String> warnings) {}
