// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonValue;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A request of the server to a member.
 *
 * @param criteriaName As the definition names it.
 * @param parameters The <code>context</code> of the definition.
 * @param payload The entity, if the definition says that it is attached.
 * @param requestId The answer names it in its <code>requestId</code>.
 * @param target What a criterion is about.
 * @param transactionId The transaction of the entity; empty, if the call is outside of one.
 * @param transition The transition that is being taken.
 */
public record EntityCriteriaCalculationRequest(
        String criteriaId,
        String criteriaName,
        String entityId,
        String id,
        @Nullable String parameters,
        @Nullable AttachedEntity payload,
        String requestId,
        boolean success,
        Target target,
        String transactionId,
        @Nullable EntityCriteriaCalculationRequestTransition transition,
        EntityCriteriaCalculationRequestWorkflow workflow) {

    /** What a criterion is about. */
    public record Target(@JsonValue String value) {

        public static final Target WORKFLOW = new Target("WORKFLOW");

        public static final Target TRANSITION = new Target("TRANSITION");

        /** Also for a value that this client does not know. */
        @JsonCreator(mode = JsonCreator.Mode.DELEGATING)
        public Target {
            Objects.requireNonNull(value, "value");
        }

        @Override
        public String toString() {
            return value;
        }
    }

    /** The transition that is being taken. */
    public record EntityCriteriaCalculationRequestTransition(
            String id,
            String name,
            String stateFrom,
            String stateTo) {}

    public record EntityCriteriaCalculationRequestWorkflow(
            String id,
            String name) {}
}
