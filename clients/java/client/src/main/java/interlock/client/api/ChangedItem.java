// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import org.jspecify.annotations.Nullable;

/**
 * An item that was reset.
 *
 * @param item The place of the item in the worker, from 0.
 * @param worker The <code>order</code> of the worker.
 */
public record ChangedItem(
        long item,
        @Nullable Long worker) {}
