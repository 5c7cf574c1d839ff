// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A registered action.
 *
 * @param dispatch <code>task</code> or <code>processor</code>.
 * @param pending How many of its tasks wait for a taker.
 * @param running How many of its tasks a member or worker has.
 * @param type <code>user</code> or <code>wasm</code>.
 * @param version How often it was registered.
 * @param wasm How an action in WebAssembly is called.
 */
public record Action(
        @Nullable String context,
        @Nullable String description,
        String dispatch,
        boolean enabled,
        @Nullable Long maxInputBytes,
        long maxOutputBytes,
        long maxRetries,
        String name,
        @Nullable String owner,
        long pending,
        long retryDelayMs,
        long running,
        List<String> tags,
        long timeoutMs,
        String type,
        long version,
        @Nullable Long waitMs,
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
