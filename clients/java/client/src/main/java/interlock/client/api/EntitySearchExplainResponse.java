// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonValue;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * How a search is served.
 *
 * @param access <code>SCAN</code>: every entity of the model was read.
 * @param id The id of the request's event.
 * @param indexable The paths by which an index could serve it.
 * @param indexes The indexes of the model.
 * @param micros How long it took, in microseconds.
 * @param requestId The id of the request's event.
 * @param servedBy The paths of the indexes that served it; <code>state</code>, if it was found by that.
 * @param visited How many entities were read.
 * @param warnings What the caller should know, although the request was answered.
 */
public record EntitySearchExplainResponse(
        @Nullable Access access,
        String id,
        @Nullable List<String> indexable,
        @Nullable List<Index> indexes,
        @Nullable Long micros,
        @Nullable String requestId,
        @Nullable Long returned,
        @Nullable List<String> servedBy,
        @Nullable Long visited,
        @Nullable List<String> warnings) {

    /** <code>SCAN</code>: every entity of the model was read. */
    public record Access(@JsonValue String value) {

        public static final Access INDEX = new Access("INDEX");

        public static final Access SCAN = new Access("SCAN");

        /** Also for a value that this client does not know. */
        @JsonCreator(mode = JsonCreator.Mode.DELEGATING)
        public Access {
            Objects.requireNonNull(value, "value");
        }

        @Override
        public String toString() {
            return value;
        }
    }
}
