// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

/**
 * Asks whether a member is still there; a member answers with an event of the same type.
 *
 * @param id Its own.
 */
public record CalculationMemberKeepAliveEvent(
        String id,
        String memberId) {}
