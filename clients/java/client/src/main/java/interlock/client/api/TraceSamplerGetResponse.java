// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonValue;
import java.math.BigDecimal;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Which requests are traced.
 *
 * @param id The id of the request's event.
 * @param parentBased Whether a request that is part of a trace is traced if that is.
 * @param ratio With <code>ratio</code>: which share of the requests, above 0 and at most 1.
 * @param requestId The id of the request's event.
 * @param warnings What the caller should know, although the request was answered.
 */
public record TraceSamplerGetResponse(
        String id,
        boolean parentBased,
        @Nullable BigDecimal ratio,
        String requestId,
        Sampler sampler,
        @Nullable List<String> warnings) {

    /** A text with the values below; a newer server may have others. */
    public record Sampler(@JsonValue String value) {

        public static final Sampler ALWAYS = new Sampler("always");

        public static final Sampler NEVER = new Sampler("never");

        public static final Sampler RATIO = new Sampler("ratio");

        public static final Sampler EMPTY = new Sampler("");

        /** Also for a value that this client does not know. */
        @JsonCreator(mode = JsonCreator.Mode.DELEGATING)
        public Sampler {
            Objects.requireNonNull(value, "value");
        }

        @Override
        public String toString() {
            return value;
        }
    }
}
