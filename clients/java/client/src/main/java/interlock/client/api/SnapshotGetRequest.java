// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Request;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** The payload of this request. */
public record SnapshotGetRequest(
        @Nullable Long pageNumber,
        @Nullable Long pageSize,
        String snapshotId) implements Request {

    @Override
    public String eventType() {
        return "SnapshotGetRequest";
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.pageNumber = pageNumber;
        builder.pageSize = pageSize;
        builder.snapshotId = snapshotId;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable Long pageNumber;
        private @Nullable Long pageSize;
        private @Nullable String snapshotId;

        private Builder() {}

        public Builder pageNumber(long pageNumber) {
            this.pageNumber = pageNumber;
            return this;
        }

        public Builder pageSize(long pageSize) {
            this.pageSize = pageSize;
            return this;
        }

        public Builder snapshotId(String snapshotId) {
            this.snapshotId = snapshotId;
            return this;
        }

        /** Makes it. */
        public SnapshotGetRequest build() {
            return new SnapshotGetRequest(
                    pageNumber,
                    pageSize,
                    Objects.requireNonNull(snapshotId, "snapshotId"));
        }
    }
}
