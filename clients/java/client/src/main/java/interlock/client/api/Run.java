// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Json;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A run. Lists leave out <code>input</code>, <code>output</code>, <code>steps</code> and <code>signals</code>.
 *
 * @param compensated Of a saga that was undone: whether every compensation succeeded.
 * @param lastSequence The number of its newest event.
 * @param signalsOmitted How many newer signals <code>signals</code> leaves out, which has at most 1,000 and about 4 MiB; absent if
 * it has all.
 * @param startedBy <code>caller</code>, <code>schedule</code>, <code>trigger</code>, <code>parent</code>, <code>transition</code> or <code>route</code>.
 * @param status <code>pending</code>, <code>running</code>, <code>waiting</code>, <code>completed</code>, <code>failed</code>, <code>cancelled</code> or <code>timed_out</code>.
 */
public record Run(
        @Nullable Boolean compensated,
        @Nullable List<CompensationFault> compensationErrors,
        Instant createdAt,
        @Nullable String currentStep,
        RunDefinitionName definition,
        @Nullable String entityId,
        @Nullable RunError error,
        @Nullable Instant finishedAt,
        @Nullable String idempotencyKey,
        @Nullable Json input,
        String kind,
        long lastSequence,
        String namespace,
        @Nullable Json output,
        @Nullable String parentRunId,
        String runId,
        Map<String, Json> searchAttributes,
        @Nullable List<RunSignal> signals,
        @Nullable Long signalsOmitted,
        @Nullable Instant startedAt,
        String startedBy,
        String status,
        @Nullable Map<String, RunStep> steps,
        @Nullable RunWaiting waiting) {}
