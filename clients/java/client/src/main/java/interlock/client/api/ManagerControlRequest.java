// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import com.fasterxml.jackson.annotation.JsonProperty;
import interlock.client.Json;
import interlock.client.Request;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The payload of this request.
 *
 * @param doValue <code>pause</code>, <code>resume</code> or <code>reset</code>.
 * @param item Of a reset: the place or the name of an item; all that ended <code>error</code> if absent.
 * @param manager The name of its file.
 * @param namespace <code>default</code> if absent.
 * @param worker Of a reset: the <code>order</code> or the <code>user_code</code> of a worker; all workers if absent.
 */
public record ManagerControlRequest(
        @JsonProperty("do") String doValue,
        @Nullable Json item,
        String manager,
        @Nullable String namespace,
        @Nullable Json worker) implements Request {

    @Override
    public String eventType() {
        return "ManagerControlRequest";
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.doValue = doValue;
        builder.item = item;
        builder.manager = manager;
        builder.namespace = namespace;
        builder.worker = worker;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable String doValue;
        private @Nullable Json item;
        private @Nullable String manager;
        private @Nullable String namespace;
        private @Nullable Json worker;

        private Builder() {}

        /** <code>pause</code>, <code>resume</code> or <code>reset</code>. */
        public Builder doValue(String doValue) {
            this.doValue = doValue;
            return this;
        }

        /** Of a reset: the place or the name of an item; all that ended <code>error</code> if absent. */
        public Builder item(Json item) {
            this.item = item;
            return this;
        }

        /** The name of its file. */
        public Builder manager(String manager) {
            this.manager = manager;
            return this;
        }

        /** <code>default</code> if absent. */
        public Builder namespace(String namespace) {
            this.namespace = namespace;
            return this;
        }

        /** Of a reset: the <code>order</code> or the <code>user_code</code> of a worker; all workers if absent. */
        public Builder worker(Json worker) {
            this.worker = worker;
            return this;
        }

        /** Makes it. */
        public ManagerControlRequest build() {
            return new ManagerControlRequest(
                    Objects.requireNonNull(doValue, "doValue"),
                    item,
                    Objects.requireNonNull(manager, "manager"),
                    namespace,
                    worker);
        }
    }
}
