// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What a tick has done with one manager.
 *
 * @param changed Whether its file was written.
 * @param error Why nothing was done.
 * @param status Absent if its file is not a manager.
 */
public record ManagerTicked(
        boolean changed,
        @Nullable String error,
        String manager,
        List<StartedItem> started,
        @Nullable String status) {}
