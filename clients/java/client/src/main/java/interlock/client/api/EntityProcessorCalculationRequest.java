// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import org.jspecify.annotations.Nullable;

/**
 * A request of the server to a member.
 *
 * @param parameters The <code>context</code> of the definition.
 * @param payload The entity, if the definition says that it is attached.
 * @param processorName As the definition names it.
 * @param requestId The answer names it in its <code>requestId</code>.
 * @param transactionId The transaction of the entity; empty, if the call is outside of one.
 * @param transition The transition that is being taken.
 */
public record EntityProcessorCalculationRequest(
        String entityId,
        String id,
        @Nullable String parameters,
        @Nullable AttachedEntity payload,
        String processorId,
        String processorName,
        String requestId,
        boolean success,
        String transactionId,
        @Nullable EntityProcessorCalculationRequestTransition transition,
        EntityProcessorCalculationRequestWorkflow workflow) {

    /** The transition that is being taken. */
    public record EntityProcessorCalculationRequestTransition(
            String id,
            String name,
            String stateFrom,
            String stateTo) {}

    public record EntityProcessorCalculationRequestWorkflow(
            String id,
            String name) {}
}
