// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Request;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The payload of this request.
 *
 * @param attributes Filters by search attributes, such as <code>customer=c1</code>, <code>amount&lt;5</code> or <code>amount&gt;5</code>.
 * @param cursor The <code>nextCursor</code> of the page before.
 * @param kind <code>flo</code>, <code>saga</code> or <code>manager</code>.
 * @param limit How many items, 1 to 1000; 100 if absent.
 * @param namespace <code>default</code> if absent.
 * @param search A part of an id, name, step, input or search attribute, whatever its case.
 * @param status Statuses of which one must be that of the run.
 */
public record RunsGetRequest(
        @Nullable List<String> attributes,
        @Nullable String cursor,
        @Nullable String definition,
        @Nullable String entityId,
        @Nullable String kind,
        @Nullable Long limit,
        @Nullable String namespace,
        @Nullable String parentRunId,
        @Nullable String search,
        @Nullable List<String> status,
        @Nullable String version) implements Request {

    @Override
    public String eventType() {
        return "RunsGetRequest";
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.attributes = attributes;
        builder.cursor = cursor;
        builder.definition = definition;
        builder.entityId = entityId;
        builder.kind = kind;
        builder.limit = limit;
        builder.namespace = namespace;
        builder.parentRunId = parentRunId;
        builder.search = search;
        builder.status = status;
        builder.version = version;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable List<String> attributes;
        private @Nullable String cursor;
        private @Nullable String definition;
        private @Nullable String entityId;
        private @Nullable String kind;
        private @Nullable Long limit;
        private @Nullable String namespace;
        private @Nullable String parentRunId;
        private @Nullable String search;
        private @Nullable List<String> status;
        private @Nullable String version;

        private Builder() {}

        /** Filters by search attributes, such as <code>customer=c1</code>, <code>amount&lt;5</code> or <code>amount&gt;5</code>. */
        public Builder attributes(List<String> attributes) {
            this.attributes = attributes;
            return this;
        }

        /** The <code>nextCursor</code> of the page before. */
        public Builder cursor(String cursor) {
            this.cursor = cursor;
            return this;
        }

        public Builder definition(String definition) {
            this.definition = definition;
            return this;
        }

        public Builder entityId(String entityId) {
            this.entityId = entityId;
            return this;
        }

        /** <code>flo</code>, <code>saga</code> or <code>manager</code>. */
        public Builder kind(String kind) {
            this.kind = kind;
            return this;
        }

        /** How many items, 1 to 1000; 100 if absent. */
        public Builder limit(long limit) {
            this.limit = limit;
            return this;
        }

        /** <code>default</code> if absent. */
        public Builder namespace(String namespace) {
            this.namespace = namespace;
            return this;
        }

        public Builder parentRunId(String parentRunId) {
            this.parentRunId = parentRunId;
            return this;
        }

        /** A part of an id, name, step, input or search attribute, whatever its case. */
        public Builder search(String search) {
            this.search = search;
            return this;
        }

        /** Statuses of which one must be that of the run. */
        public Builder status(List<String> status) {
            this.status = status;
            return this;
        }

        public Builder version(String version) {
            this.version = version;
            return this;
        }

        /** Makes it. */
        public RunsGetRequest build() {
            return new RunsGetRequest(
                    attributes,
                    cursor,
                    definition,
                    entityId,
                    kind,
                    limit,
                    namespace,
                    parentRunId,
                    search,
                    status,
                    version);
        }
    }
}
