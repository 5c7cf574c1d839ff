// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Fields whose values together identify an entity.
 *
 * @param fields Paths such as <code>$.a.b</code> of scalars outside of lists.
 */
public record UniqueKey(
        List<String> fields,
        String id) {

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.fields = fields;
        builder.id = id;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable List<String> fields;
        private @Nullable String id;

        private Builder() {}

        /** Paths such as <code>$.a.b</code> of scalars outside of lists. */
        public Builder fields(List<String> fields) {
            this.fields = fields;
            return this;
        }

        public Builder id(String id) {
            this.id = id;
            return this;
        }

        /** Makes it. */
        public UniqueKey build() {
            return new UniqueKey(
                    Objects.requireNonNull(fields, "fields"),
                    Objects.requireNonNull(id, "id"));
        }
    }
}
