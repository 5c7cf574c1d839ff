// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import org.jspecify.annotations.Nullable;

/**
 * What was decided about a workflow or a transition.
 *
 * @param held Null where a member would have to say.
 */
public record Guard(
        @Nullable String because,
        @Nullable ExplainedCriterion criterion,
        boolean held,
        String name) {}
