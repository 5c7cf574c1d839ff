// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Json;
import interlock.client.Request;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The payload of this request.
 *
 * @param definition The name of a definition.
 * @param idempotencyKey Belongs to the definition and never expires: 1 to 255 characters.
 * @param input Any JSON, at most 1 MiB; <code>{}</code> if absent.
 * @param kind <code>flo</code>, <code>saga</code> or <code>manager</code>: a definition of another kind is not started. Any kind if absent.
 * @param namespace <code>default</code> if absent.
 * @param runId The identifier of the run, if the caller chooses it.
 * @param version The latest if absent.
 * @param waitMs How long to wait for the end of the run, 0 to 30000.
 */
public record RunStartRequest(
        String definition,
        @Nullable String idempotencyKey,
        @Nullable Json input,
        @Nullable String kind,
        @Nullable String namespace,
        @Nullable String runId,
        @Nullable String version,
        @Nullable Long waitMs) implements Request {

    @Override
    public String eventType() {
        return "RunStartRequest";
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.definition = definition;
        builder.idempotencyKey = idempotencyKey;
        builder.input = input;
        builder.kind = kind;
        builder.namespace = namespace;
        builder.runId = runId;
        builder.version = version;
        builder.waitMs = waitMs;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable String definition;
        private @Nullable String idempotencyKey;
        private @Nullable Json input;
        private @Nullable String kind;
        private @Nullable String namespace;
        private @Nullable String runId;
        private @Nullable String version;
        private @Nullable Long waitMs;

        private Builder() {}

        /** The name of a definition. */
        public Builder definition(String definition) {
            this.definition = definition;
            return this;
        }

        /** Belongs to the definition and never expires: 1 to 255 characters. */
        public Builder idempotencyKey(String idempotencyKey) {
            this.idempotencyKey = idempotencyKey;
            return this;
        }

        /** Any JSON, at most 1 MiB; <code>{}</code> if absent. */
        public Builder input(Json input) {
            this.input = input;
            return this;
        }

        /** <code>flo</code>, <code>saga</code> or <code>manager</code>: a definition of another kind is not started. Any kind if absent. */
        public Builder kind(String kind) {
            this.kind = kind;
            return this;
        }

        /** <code>default</code> if absent. */
        public Builder namespace(String namespace) {
            this.namespace = namespace;
            return this;
        }

        /** The identifier of the run, if the caller chooses it. */
        public Builder runId(String runId) {
            this.runId = runId;
            return this;
        }

        /** The latest if absent. */
        public Builder version(String version) {
            this.version = version;
            return this;
        }

        /** How long to wait for the end of the run, 0 to 30000. */
        public Builder waitMs(long waitMs) {
            this.waitMs = waitMs;
            return this;
        }

        /** Makes it. */
        public RunStartRequest build() {
            return new RunStartRequest(
                    Objects.requireNonNull(definition, "definition"),
                    idempotencyKey,
                    input,
                    kind,
                    namespace,
                    runId,
                    version,
                    waitMs);
        }
    }
}
