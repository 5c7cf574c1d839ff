// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A bundle with its files as they were sent.
 *
 * @param findings The warnings.
 * @param id The id of the request's event.
 * @param warnings What the caller should know, although the request was answered.
 */
public record BundleGetResponse(
        @Nullable Instant appliedAt,
        @Nullable String bundle,
        @Nullable List<String> connectors,
        @Nullable List<BundleFile> files,
        @Nullable List<Finding> findings,
        String id,
        @Nullable List<String> machines,
        @Nullable List<String> routes,
        @Nullable List<String> sagas,
        @Nullable Long version,
        @Nullable List<String> warnings) {}
