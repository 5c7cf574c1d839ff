// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A page of state machines, by name.
 *
 * @param id The id of the request's event.
 * @param pagination Whether a list continues, and where.
 * @param warnings What the caller should know, although the request was answered.
 */
public record MachinesGetResponse(
        String id,
        @Nullable List<Machine> items,
        @Nullable Pagination pagination,
        @Nullable List<String> warnings) {

    /**
     * Whether a list continues, and where.
     *
     * @param nextCursor The <code>cursor</code> of the next page.
     */
    public record Pagination(
            boolean hasNext,
            @Nullable String nextCursor) {}
}
