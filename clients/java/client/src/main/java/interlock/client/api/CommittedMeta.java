// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.time.Instant;

/**
 * The part of that which compute members are sent too.
 *
 * @param state The state of its workflow that it is in.
 * @param transactionId The transaction that wrote this version: what <code>ifMatch</code> takes.
 */
public record CommittedMeta(
        Instant creationDate,
        String id,
        Instant lastUpdateTime,
        ModelKey modelKey,
        String state,
        String transactionId) {}
