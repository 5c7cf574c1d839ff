// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A part of a topic.
 *
 * @param first The sequence of the oldest event that is kept; that of the next one if none is.
 * @param id The id of the request's event.
 * @param last The sequence of the newest event.
 * @param warnings What the caller should know, although the request was answered.
 */
public record TopicGetResponse(
        @Nullable Long first,
        String id,
        @Nullable List<TopicEvent> items,
        @Nullable Long last,
        @Nullable List<String> warnings) {}
