// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A registered action.
 *
 * @param dispatch <code>task</code> or <code>processor</code>.
 * @param id The id of the request's event.
 * @param pending How many of its tasks wait for a taker.
 * @param running How many of its tasks a member or worker has.
 * @param type <code>user</code> or <code>wasm</code>.
 * @param version How often it was registered.
 * @param warnings What the caller should know, although the request was answered.
 * @param wasm How an action in WebAssembly is called.
 */
public record ActionGetResponse(
        @Nullable String context,
        @Nullable String description,
        @Nullable String dispatch,
        @Nullable Boolean enabled,
        String id,
        @Nullable Long maxInputBytes,
        @Nullable Long maxOutputBytes,
        @Nullable Long maxRetries,
        @Nullable String name,
        @Nullable String owner,
        @Nullable Long pending,
        @Nullable Long retryDelayMs,
        @Nullable Long running,
        @Nullable List<String> tags,
        @Nullable Long timeoutMs,
        @Nullable String type,
        @Nullable Long version,
        @Nullable Long waitMs,
        @Nullable List<String> warnings,
        @Nullable Wasm wasm) {

    /**
     * How an action in WebAssembly is called.
     *
     * @param entrypoint The function that is called.
     */
    public record Wasm(
            String entrypoint,
            long memoryLimitBytes) {}
}
