// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import org.jspecify.annotations.Nullable;

/**
 * @param as Its name; by default the operation and the path.
 * @param field The path of a number.
 * @param op <code>sum</code>, <code>avg</code>, <code>min</code>, <code>max</code> or <code>stdev</code>.
 */
public record Aggregation(
        @Nullable String as,
        @Nullable String field,
        @Nullable String op) {

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.as = as;
        builder.field = field;
        builder.op = op;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable String as;
        private @Nullable String field;
        private @Nullable String op;

        private Builder() {}

        /** Its name; by default the operation and the path. */
        public Builder as(String as) {
            this.as = as;
            return this;
        }

        /** The path of a number. */
        public Builder field(String field) {
            this.field = field;
            return this;
        }

        /** <code>sum</code>, <code>avg</code>, <code>min</code>, <code>max</code> or <code>stdev</code>. */
        public Builder op(String op) {
            this.op = op;
            return this;
        }

        /** Makes it. */
        public Aggregation build() {
            return new Aggregation(
                    as,
                    field,
                    op);
        }
    }
}
