// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Request;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** The payload of this request. */
public record EntityPatchRequest(
        PatchFormat patchFormat,
        PatchPayload payload) implements Request {

    @Override
    public String eventType() {
        return "EntityPatchRequest";
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.patchFormat = patchFormat;
        builder.payload = payload;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable PatchFormat patchFormat;
        private @Nullable PatchPayload payload;

        private Builder() {}

        public Builder patchFormat(PatchFormat patchFormat) {
            this.patchFormat = patchFormat;
            return this;
        }

        public Builder payload(PatchPayload payload) {
            this.payload = payload;
            return this;
        }

        /** Makes it. */
        public EntityPatchRequest build() {
            return new EntityPatchRequest(
                    Objects.requireNonNull(patchFormat, "patchFormat"),
                    Objects.requireNonNull(payload, "payload"));
        }
    }
}
