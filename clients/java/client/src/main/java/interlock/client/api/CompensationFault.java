// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

/** A compensation that failed. */
public record CompensationFault(
        String message,
        String step) {}
