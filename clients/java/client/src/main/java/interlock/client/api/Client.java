// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.time.Instant;
import java.util.List;

/**
 * A client that may get tokens.
 *
 * @param lastUpdateDate When it got its secret.
 */
public record Client(
        String clientId,
        Instant creationDate,
        Instant lastUpdateDate,
        List<String> roles) {}
