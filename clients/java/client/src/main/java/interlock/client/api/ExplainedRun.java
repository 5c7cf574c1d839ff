// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonValue;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * What happened in one transaction.
 *
 * @param settled The state in which it ended.
 * @param skippedWorkflows Workflows that are not for the entity.
 * @param start What began a run.
 * @param stopped Why it went no further.
 * @param transition The transition that was requested.
 * @param workflow The workflow that governs an entity.
 */
public record ExplainedRun(
        @Nullable String settled,
        @Nullable List<Guard> skippedWorkflows,
        Start start,
        List<Step> steps,
        @Nullable String stopped,
        @Nullable String transition,
        @Nullable ExplainedRunWorkflow workflow) {

    /** What began a run. */
    public record Start(@JsonValue String value) {

        public static final Start CREATE = new Start("create");

        public static final Start UPDATE = new Start("update");

        public static final Start TRANSITION = new Start("transition");

        public static final Start TIMER = new Start("timer");

        public static final Start CONTINUED = new Start("continued");

        /** Also for a value that this client does not know. */
        @JsonCreator(mode = JsonCreator.Mode.DELEGATING)
        public Start {
            Objects.requireNonNull(value, "value");
        }

        @Override
        public String toString() {
            return value;
        }
    }

    /** The workflow that governs an entity. */
    public record ExplainedRunWorkflow(
            String name,
            String why) {}
}
