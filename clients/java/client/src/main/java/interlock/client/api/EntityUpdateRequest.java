// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Request;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** The payload of this request. */
public record EntityUpdateRequest(
        DataFormat dataFormat,
        Change payload) implements Request {

    @Override
    public String eventType() {
        return "EntityUpdateRequest";
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.dataFormat = dataFormat;
        builder.payload = payload;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable DataFormat dataFormat;
        private @Nullable Change payload;

        private Builder() {}

        public Builder dataFormat(DataFormat dataFormat) {
            this.dataFormat = dataFormat;
            return this;
        }

        public Builder payload(Change payload) {
            this.payload = payload;
            return this;
        }

        /** Makes it. */
        public EntityUpdateRequest build() {
            return new EntityUpdateRequest(
                    Objects.requireNonNull(dataFormat, "dataFormat"),
                    Objects.requireNonNull(payload, "payload"));
        }
    }
}
