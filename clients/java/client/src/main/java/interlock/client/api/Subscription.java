// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Json;
import java.time.Instant;
import java.util.List;

/** A documented member. Nothing is sold, so it is always the same. */
public record Subscription(
        String id,
        String legalEntityId,
        List<Json> limits,
        Instant periodFrom,
        String status,
        String tierName) {}
