// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Request;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The payload of this request.
 *
 * @param chunkSize For a list: entities per transaction; all if absent.
 */
public record EntityCreateRequest(
        @Nullable Long chunkSize,
        DataFormat dataFormat,
        NewEntity payload) implements Request {

    @Override
    public String eventType() {
        return "EntityCreateRequest";
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
        builder.payload = payload;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable Long chunkSize;
        private @Nullable DataFormat dataFormat;
        private @Nullable NewEntity payload;

        private Builder() {}

        /** For a list: entities per transaction; all if absent. */
        public Builder chunkSize(long chunkSize) {
            this.chunkSize = chunkSize;
            return this;
        }

        public Builder dataFormat(DataFormat dataFormat) {
            this.dataFormat = dataFormat;
            return this;
        }

        public Builder payload(NewEntity payload) {
            this.payload = payload;
            return this;
        }

        /** Makes it. */
        public EntityCreateRequest build() {
            return new EntityCreateRequest(
                    chunkSize,
                    Objects.requireNonNull(dataFormat, "dataFormat"),
                    Objects.requireNonNull(payload, "payload"));
        }
    }
}
