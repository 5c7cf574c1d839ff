// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The code of an action in WebAssembly.
 *
 * @param entrypoint The exported function that is called; <code>handle</code> if absent.
 * @param memoryLimitBytes At most 16777216, which is the default.
 * @param module Base64 of the binary module, or of a text in the WebAssembly text format.
 */
public record ActionModule(
        @Nullable String entrypoint,
        @Nullable Long memoryLimitBytes,
        String module) {

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.entrypoint = entrypoint;
        builder.memoryLimitBytes = memoryLimitBytes;
        builder.module = module;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable String entrypoint;
        private @Nullable Long memoryLimitBytes;
        private @Nullable String module;

        private Builder() {}

        /** The exported function that is called; <code>handle</code> if absent. */
        public Builder entrypoint(String entrypoint) {
            this.entrypoint = entrypoint;
            return this;
        }

        /** At most 16777216, which is the default. */
        public Builder memoryLimitBytes(long memoryLimitBytes) {
            this.memoryLimitBytes = memoryLimitBytes;
            return this;
        }

        /** Base64 of the binary module, or of a text in the WebAssembly text format. */
        public Builder module(String module) {
            this.module = module;
            return this;
        }

        /** Makes it. */
        public ActionModule build() {
            return new ActionModule(
                    entrypoint,
                    memoryLimitBytes,
                    Objects.requireNonNull(module, "module"));
        }
    }
}
