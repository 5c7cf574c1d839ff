// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Json;
import org.jspecify.annotations.Nullable;

/**
 * How a processor is called.
 *
 * @param asyncResult Wait for <code>crossoverToAsyncMs</code> only, then commit and continue asynchronously.
 * @param attachEntity Whether the call contains the document; true if absent.
 * @param calculationNodesTags The tags that the member must have, separated by commas.
 * @param context Sent to the member unchanged.
 * @param crossoverToAsyncMs How long to wait with <code>asyncResult</code>, in milliseconds.
 * @param definition For <code>run</code>: the step workflow of which a run is started.
 * @param delayMs For timers: the delay in milliseconds.
 * @param idempotencyKey For <code>run</code>: a key or a path to one; <code>&lt;entityId&gt;:&lt;transition&gt;:&lt;transactionId&gt;</code> if absent.
 * @param inputMapping For <code>run</code>: the input, in which texts such as <code>$.entity.data.total</code> stand for values.
 * @param namespace For <code>run</code>: the namespace of the definition; <code>default</code> if absent.
 * @param payload For <code>signal</code>: what it carries, with the paths of <code>inputMapping</code>.
 * @param responseTimeoutMs Time limit of one attempt in milliseconds; the server's default if absent.
 * @param retryPolicy <code>NONE</code>, or <code>FIXED</code>: up to three more attempts after a retryable failure.
 * @param signal For <code>signal</code>: the type of the signal.
 * @param startNewTxOnDispatch Whether the member may write in a new transaction (<code>COMMIT_BEFORE_DISPATCH</code> only).
 * @param timeoutMs For timers: how late it may fire, in milliseconds.
 * @param transition For timers: the transition to take.
 * @param version For <code>run</code>: the version of the definition; the latest if absent.
 */
public record ProcessorConfig(
        @Nullable Boolean asyncResult,
        @Nullable Boolean attachEntity,
        @Nullable String calculationNodesTags,
        @Nullable String context,
        @Nullable Long crossoverToAsyncMs,
        @Nullable String definition,
        @Nullable Long delayMs,
        @Nullable String idempotencyKey,
        @Nullable Json inputMapping,
        @Nullable String namespace,
        @Nullable Json payload,
        @Nullable Long responseTimeoutMs,
        @Nullable String retryPolicy,
        @Nullable String signal,
        @Nullable Boolean startNewTxOnDispatch,
        @Nullable Long timeoutMs,
        @Nullable String transition,
        @Nullable String version) {

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.asyncResult = asyncResult;
        builder.attachEntity = attachEntity;
        builder.calculationNodesTags = calculationNodesTags;
        builder.context = context;
        builder.crossoverToAsyncMs = crossoverToAsyncMs;
        builder.definition = definition;
        builder.delayMs = delayMs;
        builder.idempotencyKey = idempotencyKey;
        builder.inputMapping = inputMapping;
        builder.namespace = namespace;
        builder.payload = payload;
        builder.responseTimeoutMs = responseTimeoutMs;
        builder.retryPolicy = retryPolicy;
        builder.signal = signal;
        builder.startNewTxOnDispatch = startNewTxOnDispatch;
        builder.timeoutMs = timeoutMs;
        builder.transition = transition;
        builder.version = version;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable Boolean asyncResult;
        private @Nullable Boolean attachEntity;
        private @Nullable String calculationNodesTags;
        private @Nullable String context;
        private @Nullable Long crossoverToAsyncMs;
        private @Nullable String definition;
        private @Nullable Long delayMs;
        private @Nullable String idempotencyKey;
        private @Nullable Json inputMapping;
        private @Nullable String namespace;
        private @Nullable Json payload;
        private @Nullable Long responseTimeoutMs;
        private @Nullable String retryPolicy;
        private @Nullable String signal;
        private @Nullable Boolean startNewTxOnDispatch;
        private @Nullable Long timeoutMs;
        private @Nullable String transition;
        private @Nullable String version;

        private Builder() {}

        /** Wait for <code>crossoverToAsyncMs</code> only, then commit and continue asynchronously. */
        public Builder asyncResult(boolean asyncResult) {
            this.asyncResult = asyncResult;
            return this;
        }

        /** Whether the call contains the document; true if absent. */
        public Builder attachEntity(boolean attachEntity) {
            this.attachEntity = attachEntity;
            return this;
        }

        /** The tags that the member must have, separated by commas. */
        public Builder calculationNodesTags(String calculationNodesTags) {
            this.calculationNodesTags = calculationNodesTags;
            return this;
        }

        /** Sent to the member unchanged. */
        public Builder context(String context) {
            this.context = context;
            return this;
        }

        /** How long to wait with <code>asyncResult</code>, in milliseconds. */
        public Builder crossoverToAsyncMs(long crossoverToAsyncMs) {
            this.crossoverToAsyncMs = crossoverToAsyncMs;
            return this;
        }

        /** For <code>run</code>: the step workflow of which a run is started. */
        public Builder definition(String definition) {
            this.definition = definition;
            return this;
        }

        /** For timers: the delay in milliseconds. */
        public Builder delayMs(long delayMs) {
            this.delayMs = delayMs;
            return this;
        }

        /** For <code>run</code>: a key or a path to one; <code>&lt;entityId&gt;:&lt;transition&gt;:&lt;transactionId&gt;</code> if absent. */
        public Builder idempotencyKey(String idempotencyKey) {
            this.idempotencyKey = idempotencyKey;
            return this;
        }

        /** For <code>run</code>: the input, in which texts such as <code>$.entity.data.total</code> stand for values. */
        public Builder inputMapping(Json inputMapping) {
            this.inputMapping = inputMapping;
            return this;
        }

        /** For <code>run</code>: the namespace of the definition; <code>default</code> if absent. */
        public Builder namespace(String namespace) {
            this.namespace = namespace;
            return this;
        }

        /** For <code>signal</code>: what it carries, with the paths of <code>inputMapping</code>. */
        public Builder payload(Json payload) {
            this.payload = payload;
            return this;
        }

        /** Time limit of one attempt in milliseconds; the server's default if absent. */
        public Builder responseTimeoutMs(long responseTimeoutMs) {
            this.responseTimeoutMs = responseTimeoutMs;
            return this;
        }

        /** <code>NONE</code>, or <code>FIXED</code>: up to three more attempts after a retryable failure. */
        public Builder retryPolicy(String retryPolicy) {
            this.retryPolicy = retryPolicy;
            return this;
        }

        /** For <code>signal</code>: the type of the signal. */
        public Builder signal(String signal) {
            this.signal = signal;
            return this;
        }

        /** Whether the member may write in a new transaction (<code>COMMIT_BEFORE_DISPATCH</code> only). */
        public Builder startNewTxOnDispatch(boolean startNewTxOnDispatch) {
            this.startNewTxOnDispatch = startNewTxOnDispatch;
            return this;
        }

        /** For timers: how late it may fire, in milliseconds. */
        public Builder timeoutMs(long timeoutMs) {
            this.timeoutMs = timeoutMs;
            return this;
        }

        /** For timers: the transition to take. */
        public Builder transition(String transition) {
            this.transition = transition;
            return this;
        }

        /** For <code>run</code>: the version of the definition; the latest if absent. */
        public Builder version(String version) {
            this.version = version;
            return this;
        }

        /** Makes it. */
        public ProcessorConfig build() {
            return new ProcessorConfig(
                    asyncResult,
                    attachEntity,
                    calculationNodesTags,
                    context,
                    crossoverToAsyncMs,
                    definition,
                    delayMs,
                    idempotencyKey,
                    inputMapping,
                    namespace,
                    payload,
                    responseTimeoutMs,
                    retryPolicy,
                    signal,
                    startNewTxOnDispatch,
                    timeoutMs,
                    transition,
                    version);
        }
    }
}
