// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.math.BigDecimal;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * An executor of a plan, as it is known since the start of the service.
 *
 * @param breaker <code>closed</code>, <code>open</code> or <code>half_open</code>.
 * @param lastSecond Attempts in the last second, minute and hour.
 */
public record PlanExecutor(
        BigDecimal apiRate,
        String breaker,
        BigDecimal businessRate,
        long halfOpenCalls,
        long lastHour,
        long lastMinute,
        long lastSecond,
        String name,
        @Nullable Instant openUntil,
        long samples,
        BigDecimal score) {}
