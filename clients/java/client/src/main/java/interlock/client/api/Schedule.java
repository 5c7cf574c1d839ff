// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import org.jspecify.annotations.Nullable;

/**
 * Takes the transition after some time in the state.
 *
 * @param delayMs The delay in milliseconds; 0 with a function.
 * @param function Computes the time, instead of <code>delayMs</code>.
 * @param timeoutMs How late it may fire, in milliseconds.
 */
public record Schedule(
        @Nullable Long delayMs,
        @Nullable ScheduleFunction function,
        @Nullable Long timeoutMs) {

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.delayMs = delayMs;
        builder.function = function;
        builder.timeoutMs = timeoutMs;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable Long delayMs;
        private @Nullable ScheduleFunction function;
        private @Nullable Long timeoutMs;

        private Builder() {}

        /** The delay in milliseconds; 0 with a function. */
        public Builder delayMs(long delayMs) {
            this.delayMs = delayMs;
            return this;
        }

        /** Computes the time, instead of <code>delayMs</code>. */
        public Builder function(ScheduleFunction function) {
            this.function = function;
            return this;
        }

        /** How late it may fire, in milliseconds. */
        public Builder timeoutMs(long timeoutMs) {
            this.timeoutMs = timeoutMs;
            return this;
        }

        /** Makes it. */
        public Schedule build() {
            return new Schedule(
                    delayMs,
                    function,
                    timeoutMs);
        }
    }
}
