// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Request;
import org.jspecify.annotations.Nullable;

/**
 * The payload of this request.
 *
 * @param withAdminRole Whether it also has the administrator role.
 */
public record ClientCreateRequest(
        @Nullable Boolean withAdminRole) implements Request {

    @Override
    public String eventType() {
        return "ClientCreateRequest";
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.withAdminRole = withAdminRole;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable Boolean withAdminRole;

        private Builder() {}

        /** Whether it also has the administrator role. */
        public Builder withAdminRole(boolean withAdminRole) {
            this.withAdminRole = withAdminRole;
            return this;
        }

        /** Makes it. */
        public ClientCreateRequest build() {
            return new ClientCreateRequest(
                    withAdminRole);
        }
    }
}
