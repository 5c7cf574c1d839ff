// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A manager in a list.
 *
 * @param error Why the file is not a manager.
 * @param manager The name of its file.
 * @param status Absent if the file is not a manager.
 * @param workers How many workers there are, in all as <code>total</code> and by status.
 */
public record ListedManager(
        @Nullable String error,
        String manager,
        @Nullable String name,
        @Nullable String status,
        String version,
        Map<String, Long> workers) {}
