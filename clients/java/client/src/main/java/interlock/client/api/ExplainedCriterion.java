// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Json;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A part of a criterion, and its result: true, false, or null where it was not evaluated.
 *
 * @param reason What the member gave as its reason.
 * @param seen The value, as JSON in a text; cut if it is long.
 */
public record ExplainedCriterion(
        @Nullable List<ExplainedCriterion> conditions,
        @Nullable ExplainedCriterion criterion,
        @Nullable String function,
        @Nullable String group,
        boolean held,
        @Nullable Json operand,
        @Nullable String operator,
        @Nullable String path,
        @Nullable String reason,
        @Nullable String seen) {}
