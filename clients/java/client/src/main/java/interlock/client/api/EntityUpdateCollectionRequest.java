// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Request;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** The payload of this request. */
public record EntityUpdateCollectionRequest(
        @Nullable Long chunkSize,
        DataFormat dataFormat,
        List<Change> payloads) implements Request {

    @Override
    public String eventType() {
        return "EntityUpdateCollectionRequest";
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.chunkSize = chunkSize;
        builder.dataFormat = dataFormat;
        builder.payloads = payloads;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable Long chunkSize;
        private @Nullable DataFormat dataFormat;
        private @Nullable List<Change> payloads;

        private Builder() {}

        public Builder chunkSize(long chunkSize) {
            this.chunkSize = chunkSize;
            return this;
        }

        public Builder dataFormat(DataFormat dataFormat) {
            this.dataFormat = dataFormat;
            return this;
        }

        public Builder payloads(List<Change> payloads) {
            this.payloads = payloads;
            return this;
        }

        /** Makes it. */
        public EntityUpdateCollectionRequest build() {
            return new EntityUpdateCollectionRequest(
                    chunkSize,
                    Objects.requireNonNull(dataFormat, "dataFormat"),
                    Objects.requireNonNull(payloads, "payloads"));
        }
    }
}
