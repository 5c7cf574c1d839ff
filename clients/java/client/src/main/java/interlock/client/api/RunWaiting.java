// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * What a run waits for.
 *
 * @param forValue <code>signal</code>, <code>task</code>, <code>child</code>, <code>timer</code> or <code>entity</code>.
 */
public record RunWaiting(
        @JsonProperty("for") String forValue,
        @Nullable String name,
        @Nullable Instant until) {}
