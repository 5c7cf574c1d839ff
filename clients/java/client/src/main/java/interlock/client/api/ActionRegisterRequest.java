// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Request;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The payload of this request.
 *
 * @param context The <code>parameters</code> of a call of a processor.
 * @param dispatch <code>task</code>, if absent, or <code>processor</code>.
 * @param enabled True if absent.
 * @param maxInputBytes As the settings say if absent.
 * @param maxOutputBytes 1048576 if absent.
 * @param maxRetries How many deliveries may follow the first: 0 to 100, 3 if absent.
 * @param name 1 to 256 bytes.
 * @param namespace <code>default</code> if absent.
 * @param retryDelayMs The pause before the second delivery, which doubles: 1000 if absent.
 * @param tags What a member must have to be sent its tasks.
 * @param timeoutMs How long one delivery may take: 1 to 86400000, 30000 if absent.
 * @param type <code>user</code>, if absent: members or workers do it; or <code>wasm</code>.
 * @param waitMs How long a task waits for a taker; as the settings say if absent.
 * @param wasm Of the type <code>wasm</code>: what is called.
 */
public record ActionRegisterRequest(
        @Nullable String context,
        @Nullable String description,
        @Nullable String dispatch,
        @Nullable Boolean enabled,
        @Nullable Long maxInputBytes,
        @Nullable Long maxOutputBytes,
        @Nullable Long maxRetries,
        String name,
        @Nullable String namespace,
        @Nullable String owner,
        @Nullable Long retryDelayMs,
        @Nullable List<String> tags,
        @Nullable Long timeoutMs,
        @Nullable String type,
        @Nullable Long waitMs,
        @Nullable ActionModule wasm) implements Request {

    @Override
    public String eventType() {
        return "ActionRegisterRequest";
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.context = context;
        builder.description = description;
        builder.dispatch = dispatch;
        builder.enabled = enabled;
        builder.maxInputBytes = maxInputBytes;
        builder.maxOutputBytes = maxOutputBytes;
        builder.maxRetries = maxRetries;
        builder.name = name;
        builder.namespace = namespace;
        builder.owner = owner;
        builder.retryDelayMs = retryDelayMs;
        builder.tags = tags;
        builder.timeoutMs = timeoutMs;
        builder.type = type;
        builder.waitMs = waitMs;
        builder.wasm = wasm;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable String context;
        private @Nullable String description;
        private @Nullable String dispatch;
        private @Nullable Boolean enabled;
        private @Nullable Long maxInputBytes;
        private @Nullable Long maxOutputBytes;
        private @Nullable Long maxRetries;
        private @Nullable String name;
        private @Nullable String namespace;
        private @Nullable String owner;
        private @Nullable Long retryDelayMs;
        private @Nullable List<String> tags;
        private @Nullable Long timeoutMs;
        private @Nullable String type;
        private @Nullable Long waitMs;
        private @Nullable ActionModule wasm;

        private Builder() {}

        /** The <code>parameters</code> of a call of a processor. */
        public Builder context(String context) {
            this.context = context;
            return this;
        }

        public Builder description(String description) {
            this.description = description;
            return this;
        }

        /** <code>task</code>, if absent, or <code>processor</code>. */
        public Builder dispatch(String dispatch) {
            this.dispatch = dispatch;
            return this;
        }

        /** True if absent. */
        public Builder enabled(boolean enabled) {
            this.enabled = enabled;
            return this;
        }

        /** As the settings say if absent. */
        public Builder maxInputBytes(long maxInputBytes) {
            this.maxInputBytes = maxInputBytes;
            return this;
        }

        /** 1048576 if absent. */
        public Builder maxOutputBytes(long maxOutputBytes) {
            this.maxOutputBytes = maxOutputBytes;
            return this;
        }

        /** How many deliveries may follow the first: 0 to 100, 3 if absent. */
        public Builder maxRetries(long maxRetries) {
            this.maxRetries = maxRetries;
            return this;
        }

        /** 1 to 256 bytes. */
        public Builder name(String name) {
            this.name = name;
            return this;
        }

        /** <code>default</code> if absent. */
        public Builder namespace(String namespace) {
            this.namespace = namespace;
            return this;
        }

        public Builder owner(String owner) {
            this.owner = owner;
            return this;
        }

        /** The pause before the second delivery, which doubles: 1000 if absent. */
        public Builder retryDelayMs(long retryDelayMs) {
            this.retryDelayMs = retryDelayMs;
            return this;
        }

        /** What a member must have to be sent its tasks. */
        public Builder tags(List<String> tags) {
            this.tags = tags;
            return this;
        }

        /** How long one delivery may take: 1 to 86400000, 30000 if absent. */
        public Builder timeoutMs(long timeoutMs) {
            this.timeoutMs = timeoutMs;
            return this;
        }

        /** <code>user</code>, if absent: members or workers do it; or <code>wasm</code>. */
        public Builder type(String type) {
            this.type = type;
            return this;
        }

        /** How long a task waits for a taker; as the settings say if absent. */
        public Builder waitMs(long waitMs) {
            this.waitMs = waitMs;
            return this;
        }

        /** Of the type <code>wasm</code>: what is called. */
        public Builder wasm(ActionModule wasm) {
            this.wasm = wasm;
            return this;
        }

        /** Makes it. */
        public ActionRegisterRequest build() {
            return new ActionRegisterRequest(
                    context,
                    description,
                    dispatch,
                    enabled,
                    maxInputBytes,
                    maxOutputBytes,
                    maxRetries,
                    Objects.requireNonNull(name, "name"),
                    namespace,
                    owner,
                    retryDelayMs,
                    tags,
                    timeoutMs,
                    type,
                    waitMs,
                    wasm);
        }
    }
}
