// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Json;

/** How a step ended; of several executions the latest. */
public record RunStep(
        long executions,
        String outcome,
        Json output) {}
