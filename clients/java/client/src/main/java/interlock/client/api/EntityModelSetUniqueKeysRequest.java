// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Request;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** The payload of this request. */
public record EntityModelSetUniqueKeysRequest(
        ModelSpec model,
        List<UniqueKey> uniqueKeys) implements Request {

    @Override
    public String eventType() {
        return "EntityModelSetUniqueKeysRequest";
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.model = model;
        builder.uniqueKeys = uniqueKeys;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable ModelSpec model;
        private @Nullable List<UniqueKey> uniqueKeys;

        private Builder() {}

        public Builder model(ModelSpec model) {
            this.model = model;
            return this;
        }

        public Builder uniqueKeys(List<UniqueKey> uniqueKeys) {
            this.uniqueKeys = uniqueKeys;
            return this;
        }

        /** Makes it. */
        public EntityModelSetUniqueKeysRequest build() {
            return new EntityModelSetUniqueKeysRequest(
                    Objects.requireNonNull(model, "model"),
                    Objects.requireNonNull(uniqueKeys, "uniqueKeys"));
        }
    }
}
