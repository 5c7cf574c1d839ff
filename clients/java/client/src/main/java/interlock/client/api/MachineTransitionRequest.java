// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Json;
import interlock.client.Request;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The payload of this request.
 *
 * @param connector The connector of the database with the table; that of the first flow that names the state
 * machine if absent.
 * @param data What guards and actions read as <code>input</code>: an object, at most 1 MiB; <code>{}</code> if absent.
 * @param entity The table; without a database, the model, such as <code>orders/1</code>, whose version is 1 if absent.
 * @param entityId The id of the row or the entity.
 * @param machine The name of a state machine.
 * @param namespace <code>default</code> if absent.
 */
public record MachineTransitionRequest(
        @Nullable String connector,
        @Nullable Map<String, Json> data,
        String entity,
        @Nullable Json entityId,
        String event,
        String machine,
        @Nullable String namespace) implements Request {

    @Override
    public String eventType() {
        return "MachineTransitionRequest";
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.connector = connector;
        builder.data = data;
        builder.entity = entity;
        builder.entityId = entityId;
        builder.event = event;
        builder.machine = machine;
        builder.namespace = namespace;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable String connector;
        private @Nullable Map<String, Json> data;
        private @Nullable String entity;
        private @Nullable Json entityId;
        private @Nullable String event;
        private @Nullable String machine;
        private @Nullable String namespace;

        private Builder() {}

        /**
         * The connector of the database with the table; that of the first flow that names the state
         * machine if absent.
         */
        public Builder connector(String connector) {
            this.connector = connector;
            return this;
        }

        /** What guards and actions read as <code>input</code>: an object, at most 1 MiB; <code>{}</code> if absent. */
        public Builder data(Map<String, Json> data) {
            this.data = data;
            return this;
        }

        /** The table; without a database, the model, such as <code>orders/1</code>, whose version is 1 if absent. */
        public Builder entity(String entity) {
            this.entity = entity;
            return this;
        }

        /** The id of the row or the entity. */
        public Builder entityId(Json entityId) {
            this.entityId = entityId;
            return this;
        }

        public Builder event(String event) {
            this.event = event;
            return this;
        }

        /** The name of a state machine. */
        public Builder machine(String machine) {
            this.machine = machine;
            return this;
        }

        /** <code>default</code> if absent. */
        public Builder namespace(String namespace) {
            this.namespace = namespace;
            return this;
        }

        /** Makes it. */
        public MachineTransitionRequest build() {
            return new MachineTransitionRequest(
                    connector,
                    data,
                    Objects.requireNonNull(entity, "entity"),
                    entityId,
                    Objects.requireNonNull(event, "event"),
                    Objects.requireNonNull(machine, "machine"),
                    namespace);
        }
    }
}
