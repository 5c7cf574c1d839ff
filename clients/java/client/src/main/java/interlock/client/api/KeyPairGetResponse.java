// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A key pair, without the private key.
 *
 * @param active Whether it is neither invalidated nor expired.
 * @param algorithm <code>RS256</code>.
 * @param id The id of the request's event.
 * @param keyId The <code>kid</code> of the tokens that it signs.
 * @param publicKey The public key as <code>SubjectPublicKeyInfo</code>, in base64.
 * @param requestId The id of the request's event.
 * @param validTo Absent from the key of the settings.
 * @param warnings What the caller should know, although the request was answered.
 */
public record KeyPairGetResponse(
        @Nullable Boolean active,
        @Nullable String algorithm,
        String id,
        @Nullable String keyId,
        @Nullable String publicKey,
        @Nullable String requestId,
        @Nullable Instant validFrom,
        @Nullable Instant validTo,
        @Nullable List<String> warnings) {}
