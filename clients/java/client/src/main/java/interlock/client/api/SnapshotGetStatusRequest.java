// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Request;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** The payload of this request. */
public record SnapshotGetStatusRequest(
        String snapshotId) implements Request {

    @Override
    public String eventType() {
        return "SnapshotGetStatusRequest";
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.snapshotId = snapshotId;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable String snapshotId;

        private Builder() {}

        public Builder snapshotId(String snapshotId) {
            this.snapshotId = snapshotId;
            return this;
        }

        /** Makes it. */
        public SnapshotGetStatusRequest build() {
            return new SnapshotGetStatusRequest(
                    Objects.requireNonNull(snapshotId, "snapshotId"));
        }
    }
}
