// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

/** That an event was accepted, or why it was not. */
public record EventAckResponse(
        String id,
        String sourceEventId) {}
