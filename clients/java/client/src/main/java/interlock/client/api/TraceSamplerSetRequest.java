// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Request;
import java.math.BigDecimal;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** The payload of this request. */
public record TraceSamplerSetRequest(
        @Nullable Boolean parentBased,
        @Nullable BigDecimal ratio,
        String sampler) implements Request {

    @Override
    public String eventType() {
        return "TraceSamplerSetRequest";
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.parentBased = parentBased;
        builder.ratio = ratio;
        builder.sampler = sampler;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable Boolean parentBased;
        private @Nullable BigDecimal ratio;
        private @Nullable String sampler;

        private Builder() {}

        public Builder parentBased(boolean parentBased) {
            this.parentBased = parentBased;
            return this;
        }

        public Builder ratio(BigDecimal ratio) {
            this.ratio = ratio;
            return this;
        }

        public Builder sampler(String sampler) {
            this.sampler = sampler;
            return this;
        }

        /** Makes it. */
        public TraceSamplerSetRequest build() {
            return new TraceSamplerSetRequest(
                    parentBased,
                    ratio,
                    Objects.requireNonNull(sampler, "sampler"));
        }
    }
}
