// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Request;
import org.jspecify.annotations.Nullable;

/**
 * The payload of this request.
 *
 * @param cursor The <code>nextCursor</code> of the page before.
 * @param kind <code>run</code>, <code>timer</code> or <code>producer</code>; all of them if absent.
 * @param limit How many items, 1 to 1000; 100 if absent.
 */
public record IncidentsGetRequest(
        @Nullable String cursor,
        @Nullable String kind,
        @Nullable Long limit) implements Request {

    @Override
    public String eventType() {
        return "IncidentsGetRequest";
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.cursor = cursor;
        builder.kind = kind;
        builder.limit = limit;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable String cursor;
        private @Nullable String kind;
        private @Nullable Long limit;

        private Builder() {}

        /** The <code>nextCursor</code> of the page before. */
        public Builder cursor(String cursor) {
            this.cursor = cursor;
            return this;
        }

        /** <code>run</code>, <code>timer</code> or <code>producer</code>; all of them if absent. */
        public Builder kind(String kind) {
            this.kind = kind;
            return this;
        }

        /** How many items, 1 to 1000; 100 if absent. */
        public Builder limit(long limit) {
            this.limit = limit;
            return this;
        }

        /** Makes it. */
        public IncidentsGetRequest build() {
            return new IncidentsGetRequest(
                    cursor,
                    kind,
                    limit);
        }
    }
}
