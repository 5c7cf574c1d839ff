// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

/**
 * Informs a member that a task was cancelled.
 *
 * @param requestId That of the delivery.
 */
public record TaskCancelEvent(
        String id,
        String reason,
        String requestId,
        String taskId) {}
