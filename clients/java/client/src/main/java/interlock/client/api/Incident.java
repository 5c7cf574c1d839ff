// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * Work that has stopped after it failed too often.
 *
 * @param kind <code>run</code>, <code>timer</code> (a timer of an entity, or a cascade that a crash interrupted) or <code>producer</code> (a
 * schedule or a trigger).
 * @param name The definition of a run, schedule or trigger; the transition of a timer.
 * @param reason Why it failed last.
 * @param since When it failed first.
 * @param tries How often it failed.
 */
public record Incident(
        @Nullable String entityId,
        String incidentId,
        String kind,
        @Nullable String name,
        String reason,
        @Nullable String runId,
        Instant since,
        long tries) {}
