// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

/**
 * Greets a member that has joined.
 *
 * @param joinedLegalEntityId The tenant.
 */
public record CalculationMemberGreetEvent(
        String id,
        String joinedLegalEntityId,
        String memberId) {}
