// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * What is known about an entity.
 *
 * @param pointInTime The instant that was asked for.
 * @param state The state of its workflow that it is in.
 * @param transactionId The transaction that wrote this version: what <code>ifMatch</code> takes.
 * @param transitionForLatestSave The transition that led to this version; <code>loopback</code>, if none was named.
 */
public record EntityMeta(
        Instant creationDate,
        String id,
        Instant lastUpdateTime,
        ModelKey modelKey,
        @Nullable String pointInTime,
        String state,
        String transactionId,
        String transitionForLatestSave) {}
