// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonValue;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A way out of a state.
 *
 * @param open Null where a member would have to say.
 * @param trigger What would take it.
 */
public record Way(
        @Nullable ExplainedCriterion criterion,
        String name,
        String next,
        boolean open,
        Trigger trigger,
        String why) {

    /** What would take it. */
    public record Trigger(@JsonValue String value) {

        public static final Trigger AUTOMATED = new Trigger("automated");

        public static final Trigger MANUAL = new Trigger("manual");

        public static final Trigger SCHEDULED = new Trigger("scheduled");

        public static final Trigger DISABLED = new Trigger("disabled");

        /** Also for a value that this client does not know. */
        @JsonCreator(mode = JsonCreator.Mode.DELEGATING)
        public Trigger {
            Objects.requireNonNull(value, "value");
        }

        @Override
        public String toString() {
            return value;
        }
    }
}
