// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Json;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * An event to be added to a topic.
 *
 * @param id An event whose id the topic has already is not added again.
 * @param key Events of one key keep their order in triggers of the mode <code>key_shared</code>.
 * @param payload Any JSON, of at most 1 MiB.
 */
public record NewTopicEvent(
        @Nullable String id,
        @Nullable String key,
        Json payload,
        @Nullable String type) {

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.id = id;
        builder.key = key;
        builder.payload = payload;
        builder.type = type;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable String id;
        private @Nullable String key;
        private @Nullable Json payload;
        private @Nullable String type;

        private Builder() {}

        /** An event whose id the topic has already is not added again. */
        public Builder id(String id) {
            this.id = id;
            return this;
        }

        /** Events of one key keep their order in triggers of the mode <code>key_shared</code>. */
        public Builder key(String key) {
            this.key = key;
            return this;
        }

        /** Any JSON, of at most 1 MiB. */
        public Builder payload(Json payload) {
            this.payload = payload;
            return this;
        }

        public Builder type(String type) {
            this.type = type;
            return this;
        }

        /** Makes it. */
        public NewTopicEvent build() {
            return new NewTopicEvent(
                    id,
                    key,
                    Objects.requireNonNull(payload, "payload"),
                    type);
        }
    }
}
