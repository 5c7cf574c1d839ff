// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A provider of tokens that a tenant trusts.
 *
 * @param active Whether its tokens are accepted.
 */
public record OidcProvider(
        boolean active,
        Instant createdAt,
        @Nullable List<String> expectedAudiences,
        String id,
        @Nullable List<String> issuers,
        @Nullable String rolesClaim,
        String wellKnownConfigUri) {}
