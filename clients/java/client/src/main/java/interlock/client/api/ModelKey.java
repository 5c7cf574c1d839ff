// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

/** The name and the version of a model. */
public record ModelKey(
        String name,
        int version) {}
