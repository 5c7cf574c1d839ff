// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import org.jspecify.annotations.Nullable;

/**
 * Work that was started for an item.
 *
 * @param item The place of the item in the worker, from 0.
 * @param worker The <code>order</code> of the worker.
 */
public record StartedItem(
        long item,
        @Nullable String runId,
        @Nullable String taskId,
        @Nullable Long worker) {}
