// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import org.jspecify.annotations.Nullable;

/**
 * The result of requesting the keys of a provider.
 *
 * @param error Why they are not known; those of before are used for an hour.
 * @param keys How many usable keys there are.
 */
public record ReloadedProvider(
        @Nullable String error,
        String id,
        @Nullable Long keys) {}
