// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Json;
import java.time.Instant;

/**
 * A signal that was delivered.
 *
 * @param consumed Whether a step has taken it.
 */
public record RunSignal(
        boolean consumed,
        Json payload,
        Instant receivedAt,
        String type) {}
