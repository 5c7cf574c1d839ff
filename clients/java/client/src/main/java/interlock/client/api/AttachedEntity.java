// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Json;

/**
 * An entity in a call.
 *
 * @param data The document.
 */
public record AttachedEntity(
        Json data,
        CommittedMeta meta,
        String type) {}
