// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Json;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * One execution of an action.
 *
 * @param attempt The delivery that somebody has or had last, from 1; 0 before the first, and once the task has
 * ended if that was not stored.
 * @param status <code>pending</code>, <code>running</code>, <code>completed</code>, <code>failed</code>, <code>cancelled</code> or <code>timed_out</code>.
 * @param takenBy Who has it. A worker that has pulled it is shown by every node, a member that was sent it by
 * the node that drives its run.
 */
public record TaskState(
        long attempt,
        Instant createdAt,
        @Nullable RunError error,
        @Nullable Instant finishedAt,
        Json input,
        String kind,
        @Nullable Instant leaseUntil,
        String name,
        String namespace,
        @Nullable String outcome,
        @Nullable Json output,
        @Nullable Json progress,
        @Nullable String runId,
        String status,
        @Nullable String step,
        @Nullable String takenBy,
        String taskId) {}
