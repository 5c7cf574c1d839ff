// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import org.jspecify.annotations.Nullable;

/**
 * The definition that a run follows.
 *
 * @param digest SHA-256 of the compiled form, in hexadecimal.
 */
public record RunDefinitionName(
        @Nullable String digest,
        String name,
        String version) {}
