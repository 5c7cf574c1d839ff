// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import org.jspecify.annotations.Nullable;

/**
 * The end of an answer of many events.
 *
 * @param count How many events were sent, without one that failed.
 * @param id The id of the request's event.
 * @param page Of a page of a search that ran on its own.
 * @param requestId The same.
 */
public record EventStreamEnd(
        long count,
        @Nullable Error error,
        String id,
        @Nullable Page page,
        String requestId,
        boolean success) {}
