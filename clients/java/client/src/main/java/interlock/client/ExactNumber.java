package interlock.client;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.databind.SerializerProvider;
import com.fasterxml.jackson.databind.node.NumericNode;
import java.io.IOException;
import java.math.BigDecimal;
import java.math.BigInteger;

/** A number in a tree that is written as it was read. */
final class ExactNumber extends NumericNode {

    private static final long serialVersionUID = 1L;

    private static final BigInteger INT_MIN = BigInteger.valueOf(Integer.MIN_VALUE);
    private static final BigInteger INT_MAX = BigInteger.valueOf(Integer.MAX_VALUE);
    private static final BigInteger LONG_MIN = BigInteger.valueOf(Long.MIN_VALUE);
    private static final BigInteger LONG_MAX = BigInteger.valueOf(Long.MAX_VALUE);

    private final String digits;

    ExactNumber(String digits) {
        this.digits = digits;
    }

    private boolean isInteger() {
        return digits.indexOf('.') < 0 && digits.indexOf('e') < 0 && digits.indexOf('E') < 0;
    }

    @Override
    public JsonToken asToken() {
        return isInteger() ? JsonToken.VALUE_NUMBER_INT : JsonToken.VALUE_NUMBER_FLOAT;
    }

    @Override
    public JsonParser.NumberType numberType() {
        if (!isInteger()) {
            return JsonParser.NumberType.BIG_DECIMAL;
        }
        if (canConvertToInt()) {
            return JsonParser.NumberType.INT;
        }
        return canConvertToLong() ? JsonParser.NumberType.LONG : JsonParser.NumberType.BIG_INTEGER;
    }

    @Override
    public Number numberValue() {
        return switch (numberType()) {
            case INT -> intValue();
            case LONG -> longValue();
            case BIG_INTEGER -> bigIntegerValue();
            default -> decimalValue();
        };
    }

    @Override
    public boolean isIntegralNumber() {
        return isInteger();
    }

    @Override
    public boolean isFloatingPointNumber() {
        return !isInteger();
    }

    @Override
    public boolean isInt() {
        return numberType() == JsonParser.NumberType.INT;
    }

    @Override
    public boolean isLong() {
        return numberType() == JsonParser.NumberType.LONG;
    }

    @Override
    public boolean isBigInteger() {
        return numberType() == JsonParser.NumberType.BIG_INTEGER;
    }

    @Override
    public boolean isBigDecimal() {
        return !isInteger();
    }

    @Override
    public int intValue() {
        return decimalValue().intValue();
    }

    @Override
    public long longValue() {
        return decimalValue().longValue();
    }

    @Override
    public double doubleValue() {
        return Double.parseDouble(digits);
    }

    @Override
    public float floatValue() {
        return Float.parseFloat(digits);
    }

    @Override
    public BigDecimal decimalValue() {
        return new BigDecimal(digits);
    }

    @Override
    public BigInteger bigIntegerValue() {
        return isInteger() ? new BigInteger(digits) : decimalValue().toBigInteger();
    }

    @Override
    public boolean canConvertToInt() {
        return isWithin(INT_MIN, INT_MAX);
    }

    @Override
    public boolean canConvertToLong() {
        return isWithin(LONG_MIN, LONG_MAX);
    }

    private boolean isWithin(BigInteger least, BigInteger most) {
        BigDecimal value = decimalValue();
        return value.compareTo(new BigDecimal(least)) >= 0 && value.compareTo(new BigDecimal(most)) <= 0;
    }

    @Override
    public String asText() {
        return digits;
    }

    @Override
    public void serialize(JsonGenerator generator, SerializerProvider provider) throws IOException {
        generator.writeNumber(digits);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof ExactNumber number && number.digits.equals(digits);
    }

    @Override
    public int hashCode() {
        return digits.hashCode();
    }
}
