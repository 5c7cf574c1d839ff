// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Json;
import interlock.client.Request;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The payload of this request.
 *
 * @param metaData Some clients spell it as the first version of the interface did.
 * @param payload Any JSON; required, and may be null.
 */
public record MessageCreateRequest(
        Header header,
        @Nullable Json metaData,
        Json payload) implements Request {

    @Override
    public String eventType() {
        return "MessageCreateRequest";
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.header = header;
        builder.metaData = metaData;
        builder.payload = payload;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable Header header;
        private @Nullable Json metaData;
        private @Nullable Json payload;

        private Builder() {}

        public Builder header(Header header) {
            this.header = header;
            return this;
        }

        /** Some clients spell it as the first version of the interface did. */
        public Builder metaData(Json metaData) {
            this.metaData = metaData;
            return this;
        }

        /** Any JSON; required, and may be null. */
        public Builder payload(Json payload) {
            this.payload = payload;
            return this;
        }

        /** Makes it. */
        public MessageCreateRequest build() {
            return new MessageCreateRequest(
                    Objects.requireNonNull(header, "header"),
                    metaData,
                    Objects.requireNonNull(payload, "payload"));
        }
    }
}
