// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Request;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The payload of this request.
 *
 * @param events 1 to 1000.
 * @param namespace <code>default</code> if absent.
 * @param topic 1 to 256 bytes.
 */
public record TopicPublishRequest(
        List<NewTopicEvent> events,
        @Nullable String namespace,
        String topic) implements Request {

    @Override
    public String eventType() {
        return "TopicPublishRequest";
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.events = events;
        builder.namespace = namespace;
        builder.topic = topic;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable List<NewTopicEvent> events;
        private @Nullable String namespace;
        private @Nullable String topic;

        private Builder() {}

        /** 1 to 1000. */
        public Builder events(List<NewTopicEvent> events) {
            this.events = events;
            return this;
        }

        /** <code>default</code> if absent. */
        public Builder namespace(String namespace) {
            this.namespace = namespace;
            return this;
        }

        /** 1 to 256 bytes. */
        public Builder topic(String topic) {
            this.topic = topic;
            return this;
        }

        /** Makes it. */
        public TopicPublishRequest build() {
            return new TopicPublishRequest(
                    Objects.requireNonNull(events, "events"),
                    namespace,
                    Objects.requireNonNull(topic, "topic"));
        }
    }
}
