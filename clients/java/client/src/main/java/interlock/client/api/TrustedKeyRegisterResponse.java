// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonValue;
import interlock.client.Json;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A key that a tenant trusts.
 *
 * @param active Whether it is neither invalidated nor expired.
 * @param id The id of the request's event.
 * @param issuers Whose tokens are accepted; absent, if anybody's are.
 * @param jwk As it was registered.
 * @param keyId The <code>kid</code> of the tokens that it signs.
 * @param legalEntityId The tenant.
 * @param requestId The id of the request's event.
 * @param validTo Until then it is trusted, also if it was invalidated.
 * @param warnings What the caller should know, although the request was answered.
 */
public record TrustedKeyRegisterResponse(
        @Nullable Boolean active,
        @Nullable Audience audience,
        String id,
        @Nullable List<String> issuers,
        @Nullable Map<String, Json> jwk,
        @Nullable String keyId,
        @Nullable String legalEntityId,
        @Nullable String requestId,
        @Nullable Instant validFrom,
        @Nullable Instant validTo,
        @Nullable List<String> warnings) {

    /** A text with the values below; a newer server may have others. */
    public record Audience(@JsonValue String value) {

        public static final Audience CLIENT = new Audience("client");

        public static final Audience HUMAN = new Audience("human");

        /** Also for a value that this client does not know. */
        @JsonCreator(mode = JsonCreator.Mode.DELEGATING)
        public Audience {
            Objects.requireNonNull(value, "value");
        }

        @Override
        public String toString() {
            return value;
        }
    }
}
