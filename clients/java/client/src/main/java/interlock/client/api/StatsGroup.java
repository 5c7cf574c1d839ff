// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.math.BigDecimal;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * One group of entities.
 *
 * @param aggregations By their names; null where there is no number. Absent if none was requested.
 * @param count How many entities it has.
 * @param groupKey What it is grouped by, and the value of each.
 */
public record StatsGroup(
        @Nullable Map<String, BigDecimal> aggregations,
        long count,
        List<StatsGroupKey> groupKey) {}
