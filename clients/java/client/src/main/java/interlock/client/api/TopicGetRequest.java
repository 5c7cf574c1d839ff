// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Request;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The payload of this request.
 *
 * @param fromSequence The sequence after which to begin; 0 if absent.
 * @param limit How many events, 1 to 1000; 100 if absent. Fewer are answered if they are large.
 * @param namespace <code>default</code> if absent.
 */
public record TopicGetRequest(
        @Nullable Long fromSequence,
        @Nullable Long limit,
        @Nullable String namespace,
        String topic) implements Request {

    @Override
    public String eventType() {
        return "TopicGetRequest";
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.fromSequence = fromSequence;
        builder.limit = limit;
        builder.namespace = namespace;
        builder.topic = topic;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable Long fromSequence;
        private @Nullable Long limit;
        private @Nullable String namespace;
        private @Nullable String topic;

        private Builder() {}

        /** The sequence after which to begin; 0 if absent. */
        public Builder fromSequence(long fromSequence) {
            this.fromSequence = fromSequence;
            return this;
        }

        /** How many events, 1 to 1000; 100 if absent. Fewer are answered if they are large. */
        public Builder limit(long limit) {
            this.limit = limit;
            return this;
        }

        /** <code>default</code> if absent. */
        public Builder namespace(String namespace) {
            this.namespace = namespace;
            return this;
        }

        public Builder topic(String topic) {
            this.topic = topic;
            return this;
        }

        /** Makes it. */
        public TopicGetRequest build() {
            return new TopicGetRequest(
                    fromSequence,
                    limit,
                    namespace,
                    Objects.requireNonNull(topic, "topic"));
        }
    }
}
