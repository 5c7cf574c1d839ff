// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A manager that was controlled.
 *
 * @param changed The items that were reset.
 * @param id The id of the request's event.
 * @param warnings What the caller should know, although the request was answered.
 */
public record ManagerControlResponse(
        @Nullable List<ChangedItem> changed,
        String id,
        @Nullable String manager,
        @Nullable String status,
        @Nullable List<String> warnings) {}
