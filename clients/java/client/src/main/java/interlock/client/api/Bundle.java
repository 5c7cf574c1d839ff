// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.time.Instant;
import java.util.List;

/**
 * A bundle.
 *
 * @param findings The warnings.
 */
public record Bundle(
        Instant appliedAt,
        String bundle,
        List<String> connectors,
        List<Finding> findings,
        List<String> machines,
        List<String> routes,
        List<String> sagas,
        long version) {}
