// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Json;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * An event of a topic.
 *
 * @param sequence 1, 2, 3… in its topic.
 * @param time When it was published.
 */
public record TopicEvent(
        @Nullable String id,
        @Nullable String key,
        Json payload,
        long sequence,
        Instant time,
        @Nullable String type) {}
