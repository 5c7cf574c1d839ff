// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonValue;
import java.util.Objects;

/**
 * A search index of a model.
 *
 * @param declared Whether a client declared it.
 * @param state It serves searches once it is <code>READY</code>.
 */
public record Index(
        boolean declared,
        String path,
        IndexState state) {

    /** It serves searches once it is <code>READY</code>. */
    public record IndexState(@JsonValue String value) {

        public static final IndexState FILLING = new IndexState("FILLING");

        public static final IndexState READY = new IndexState("READY");

        public static final IndexState DROPPING = new IndexState("DROPPING");

        /** Also for a value that this client does not know. */
        @JsonCreator(mode = JsonCreator.Mode.DELEGATING)
        public IndexState {
            Objects.requireNonNull(value, "value");
        }

        @Override
        public String toString() {
            return value;
        }
    }
}
