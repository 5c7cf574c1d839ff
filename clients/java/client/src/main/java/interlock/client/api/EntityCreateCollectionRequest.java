// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Request;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The payload of this request.
 *
 * @param chunkSize Items per transaction; all if absent.
 */
public record EntityCreateCollectionRequest(
        @Nullable Long chunkSize,
        DataFormat dataFormat,
        List<NewEntity> payloads) implements Request {

    @Override
    public String eventType() {
        return "EntityCreateCollectionRequest";
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
        private @Nullable List<NewEntity> payloads;

        private Builder() {}

        /** Items per transaction; all if absent. */
        public Builder chunkSize(long chunkSize) {
            this.chunkSize = chunkSize;
            return this;
        }

        public Builder dataFormat(DataFormat dataFormat) {
            this.dataFormat = dataFormat;
            return this;
        }

        public Builder payloads(List<NewEntity> payloads) {
            this.payloads = payloads;
            return this;
        }

        /** Makes it. */
        public EntityCreateCollectionRequest build() {
            return new EntityCreateCollectionRequest(
                    chunkSize,
                    Objects.requireNonNull(dataFormat, "dataFormat"),
                    Objects.requireNonNull(payloads, "payloads"));
        }
    }
}
