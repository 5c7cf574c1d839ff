// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Events that were published.
 *
 * @param id The id of the request's event.
 * @param sequences The sequence of each event, that of the first with its id if it is a repeat. Empty if the
 * request joined a transaction: they are given when that commits.
 * @param warnings What the caller should know, although the request was answered.
 */
public record TopicPublishResponse(
        String id,
        @Nullable List<Long> sequences,
        @Nullable List<String> warnings) {}
