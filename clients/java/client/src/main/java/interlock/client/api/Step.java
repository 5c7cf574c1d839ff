// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What happened in one state.
 *
 * @param calls Calls of members, and their results.
 * @param next The state it led to.
 * @param took The transition that was taken.
 */
public record Step(
        @Nullable List<String> calls,
        List<Guard> considered,
        @Nullable String next,
        @Nullable String state,
        @Nullable String took) {}
