// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import org.jspecify.annotations.Nullable;

/** Why a run ended other than by a terminal. */
public record RunError(
        @Nullable String code,
        String message) {}
