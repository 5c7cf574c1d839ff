// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

/**
 * A value that the entities of a group have in common.
 *
 * @param value As text; null where it is missing or not a scalar.
 */
public record StatsGroupKey(
        String path,
        String value) {}
