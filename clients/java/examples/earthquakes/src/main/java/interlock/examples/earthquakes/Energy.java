package interlock.examples.earthquakes;

import java.math.BigDecimal;
import java.math.BigInteger;

/** Estimates the energy that an earthquake radiates. */
final class Energy {

    private static final BigDecimal FACTOR = new BigDecimal("1.5");
    private static final BigDecimal SUMMAND = new BigDecimal("4.8");

    private Energy() {}

    /**
     * In joules (Gutenberg and Richter, 1956): ten to the power of 1.5 times the magnitude plus 4.8,
     * rounded.
     */
    static BigInteger joules(BigDecimal magnitude) {
        BigDecimal exponent = magnitude.multiply(FACTOR).add(SUMMAND).stripTrailingZeros();
        BigInteger joules = BigInteger.valueOf((long) Math.pow(10, exponent.doubleValue()));
        if (exponent.signum() < 0) {
            return joules;
        }
        // The estimate may be wrong in its last digit. With the exponent n/d, the next half h is too low as long
        // as h to the power of d is below ten to the power of n.
        int scale = Math.max(0, exponent.scale());
        BigInteger numerator = exponent.movePointRight(scale).toBigIntegerExact();
        BigInteger common = numerator.gcd(BigInteger.TEN.pow(scale));
        int n = numerator.divide(common).intValueExact();
        int d = BigInteger.TEN.pow(scale).divide(common).intValueExact();
        BigInteger power = BigInteger.TEN.pow(n).multiply(BigInteger.TWO.pow(d));
        while (joules.shiftLeft(1).add(BigInteger.ONE).pow(d).compareTo(power) < 0) {
            joules = joules.add(BigInteger.ONE);
        }
        while (joules.signum() > 0 && joules.shiftLeft(1).subtract(BigInteger.ONE).pow(d).compareTo(power) > 0) {
            joules = joules.subtract(BigInteger.ONE);
        }
        return joules;
    }
}
