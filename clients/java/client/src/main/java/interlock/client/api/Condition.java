// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonValue;
import interlock.client.Json;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A condition on an entity. An empty <code>AND</code> group matches every entity.
 *
 * @param operator <code>AND</code>: all hold. <code>OR</code>: one holds. <code>NOT</code>: none holds.
 * @param values The expected elements; null matches any.
 */
public record Condition(
        @Nullable List<Condition> conditions,
        @Nullable Field field,
        @Nullable ConditionFunction function,
        @Nullable String jsonPath,
        @Nullable Operator operator,
        @Nullable OperatorType operatorType,
        Type type,
        @Nullable Json value,
        @Nullable List<Json> values) {

    /** A text with the values below; a newer server may have others. */
    public record Field(@JsonValue String value) {

        public static final Field STATE = new Field("state");

        public static final Field CREATION_DATE = new Field("creationDate");

        public static final Field LAST_UPDATE_TIME = new Field("lastUpdateTime");

        public static final Field PREVIOUS_TRANSITION = new Field("previousTransition");

        public static final Field TRANSACTION_ID = new Field("transactionId");

        public static final Field ID = new Field("id");

        /** Also for a value that this client does not know. */
        @JsonCreator(mode = JsonCreator.Mode.DELEGATING)
        public Field {
            Objects.requireNonNull(value, "value");
        }

        @Override
        public String toString() {
            return value;
        }
    }

    /** <code>AND</code>: all hold. <code>OR</code>: one holds. <code>NOT</code>: none holds. */
    public record Operator(@JsonValue String value) {

        public static final Operator AND = new Operator("AND");

        public static final Operator OR = new Operator("OR");

        public static final Operator NOT = new Operator("NOT");

        /** Also for a value that this client does not know. */
        @JsonCreator(mode = JsonCreator.Mode.DELEGATING)
        public Operator {
            Objects.requireNonNull(value, "value");
        }

        @Override
        public String toString() {
            return value;
        }
    }

    /** A text with the values below; a newer server may have others. */
    public record OperatorType(@JsonValue String value) {

        public static final OperatorType BETWEEN = new OperatorType("BETWEEN");

        public static final OperatorType BETWEEN_INCLUSIVE = new OperatorType("BETWEEN_INCLUSIVE");

        public static final OperatorType CONTAINS = new OperatorType("CONTAINS");

        public static final OperatorType ENDS_WITH = new OperatorType("ENDS_WITH");

        public static final OperatorType EQUALS = new OperatorType("EQUALS");

        public static final OperatorType GREATER_OR_EQUAL = new OperatorType("GREATER_OR_EQUAL");

        public static final OperatorType GREATER_THAN = new OperatorType("GREATER_THAN");

        public static final OperatorType ICONTAINS = new OperatorType("ICONTAINS");

        public static final OperatorType IENDS_WITH = new OperatorType("IENDS_WITH");

        public static final OperatorType IEQUALS = new OperatorType("IEQUALS");

        public static final OperatorType IN = new OperatorType("IN");

        public static final OperatorType INOT_CONTAINS = new OperatorType("INOT_CONTAINS");

        public static final OperatorType INOT_ENDS_WITH = new OperatorType("INOT_ENDS_WITH");

        public static final OperatorType INOT_EQUAL = new OperatorType("INOT_EQUAL");

        public static final OperatorType INOT_STARTS_WITH = new OperatorType("INOT_STARTS_WITH");

        public static final OperatorType IS_CHANGED = new OperatorType("IS_CHANGED");

        public static final OperatorType IS_NULL = new OperatorType("IS_NULL");

        public static final OperatorType IS_UNCHANGED = new OperatorType("IS_UNCHANGED");

        public static final OperatorType ISTARTS_WITH = new OperatorType("ISTARTS_WITH");

        public static final OperatorType LESS_OR_EQUAL = new OperatorType("LESS_OR_EQUAL");

        public static final OperatorType LESS_THAN = new OperatorType("LESS_THAN");

        public static final OperatorType LIKE = new OperatorType("LIKE");

        public static final OperatorType MATCHES_PATTERN = new OperatorType("MATCHES_PATTERN");

        public static final OperatorType NOT_CONTAINS = new OperatorType("NOT_CONTAINS");

        public static final OperatorType NOT_ENDS_WITH = new OperatorType("NOT_ENDS_WITH");

        public static final OperatorType NOT_EQUAL = new OperatorType("NOT_EQUAL");

        public static final OperatorType NOT_IN = new OperatorType("NOT_IN");

        public static final OperatorType NOT_NULL = new OperatorType("NOT_NULL");

        public static final OperatorType NOT_STARTS_WITH = new OperatorType("NOT_STARTS_WITH");

        public static final OperatorType STARTS_WITH = new OperatorType("STARTS_WITH");

        /** Also for a value that this client does not know. */
        @JsonCreator(mode = JsonCreator.Mode.DELEGATING)
        public OperatorType {
            Objects.requireNonNull(value, "value");
        }

        @Override
        public String toString() {
            return value;
        }
    }

    /** A text with the values below; a newer server may have others. */
    public record Type(@JsonValue String value) {

        public static final Type SIMPLE = new Type("simple");

        public static final Type LIFECYCLE = new Type("lifecycle");

        public static final Type GROUP = new Type("group");

        public static final Type ARRAY = new Type("array");

        public static final Type FUNCTION = new Type("function");

        /** Also for a value that this client does not know. */
        @JsonCreator(mode = JsonCreator.Mode.DELEGATING)
        public Type {
            Objects.requireNonNull(value, "value");
        }

        @Override
        public String toString() {
            return value;
        }
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.conditions = conditions;
        builder.field = field;
        builder.function = function;
        builder.jsonPath = jsonPath;
        builder.operator = operator;
        builder.operatorType = operatorType;
        builder.type = type;
        builder.value = value;
        builder.values = values;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable List<Condition> conditions;
        private @Nullable Field field;
        private @Nullable ConditionFunction function;
        private @Nullable String jsonPath;
        private @Nullable Operator operator;
        private @Nullable OperatorType operatorType;
        private @Nullable Type type;
        private @Nullable Json value;
        private @Nullable List<Json> values;

        private Builder() {}

        public Builder conditions(List<Condition> conditions) {
            this.conditions = conditions;
            return this;
        }

        public Builder field(Field field) {
            this.field = field;
            return this;
        }

        public Builder function(ConditionFunction function) {
            this.function = function;
            return this;
        }

        public Builder jsonPath(String jsonPath) {
            this.jsonPath = jsonPath;
            return this;
        }

        /** <code>AND</code>: all hold. <code>OR</code>: one holds. <code>NOT</code>: none holds. */
        public Builder operator(Operator operator) {
            this.operator = operator;
            return this;
        }

        public Builder operatorType(OperatorType operatorType) {
            this.operatorType = operatorType;
            return this;
        }

        public Builder type(Type type) {
            this.type = type;
            return this;
        }

        public Builder value(Json value) {
            this.value = value;
            return this;
        }

        /** The expected elements; null matches any. */
        public Builder values(List<Json> values) {
            this.values = values;
            return this;
        }

        /** Makes it. */
        public Condition build() {
            return new Condition(
                    conditions,
                    field,
                    function,
                    jsonPath,
                    operator,
                    operatorType,
                    Objects.requireNonNull(type, "type"),
                    value,
                    values);
        }
    }
}
