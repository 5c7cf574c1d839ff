// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

/**
 * A process that uses the database.
 *
 * @param address Where other nodes reach it by gRPC.
 * @param beatAgeMs How long ago its last heartbeat was, in milliseconds.
 * @param live Whether its last heartbeat is recent.
 * @param members How many compute members of the caller's tenant are connected to it.
 */
public record ServiceNode(
        String address,
        long beatAgeMs,
        boolean live,
        long members,
        String name,
        String version) {}
