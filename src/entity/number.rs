//! Exact decimal numbers, read from their literals and never rounded.

use std::{borrow::Cow, cmp::Ordering, fmt};

/// A number as sign, significant digits and exponent: `±0.d₁d₂… × 10^exponent`.
///
/// There are no zeros at either end of the digits, so equal numbers are equal values however they
/// are written (`5`, `5.0`, `5E0`), and comparing never computes huge exponents.
///
/// An exponent beyond [`EXPONENT_MAX`] is the largest or the smallest one, and begins the digits
/// ([`sortable`]), so that such numbers are compared exactly in the same way.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Number {
    negative: bool,
    digits: Box<str>,
    exponent: i64,
}

/// The largest exponent that is computed with.
const EXPONENT_MAX: i64 = i64::MAX / 2;

/// The narrowest numeric type that holds a number (`models-and-entities.md` §3.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NumberClass {
    Integer,
    Long,
    BigInteger,
    UnboundInteger,
    Double,
    BigDecimal,
    UnboundDecimal,
}

impl Number {
    /// Parses a literal as JSON writes numbers; none for anything else.
    pub fn parse(literal: &str) -> Option<Self> {
        let (negative, rest) = literal
            .strip_prefix('-')
            .map_or((false, literal), |rest| (true, rest));
        let (mantissa, exponent) = match rest.find(['e', 'E']) {
            Some(at) => (&rest[..at], exponent_sign(&rest[at + 1..])?),
            None => (rest, (false, "0")),
        };
        let (whole, fraction) = match mantissa.split_once('.') {
            Some((whole, fraction)) if is_digits(fraction) => (whole, fraction),
            Some(_) => return None,
            None => (mantissa, ""),
        };
        if !is_digits(whole) || (whole.len() > 1 && whole.starts_with('0')) {
            return None;
        }
        let all: Cow<'_, str> = if fraction.is_empty() {
            whole.into()
        } else {
            [whole, fraction].concat().into()
        };
        let significant = all.trim_start_matches('0');
        let leading_zeros = i64::try_from(all.len() - significant.len()).ok()?;
        let digits = significant.trim_end_matches('0');
        if digits.is_empty() {
            return Some(Self {
                negative: false,
                digits: Box::default(),
                exponent: 0,
            });
        }
        let point = i64::try_from(whole.len()).ok()? - leading_zeros;
        let (below, magnitude) = exponent;
        if let Ok(exponent) = magnitude.parse::<i64>()
            && exponent <= EXPONENT_MAX - point.abs()
        {
            let exponent = if below { -exponent } else { exponent };
            return Some(Self {
                negative,
                digits: digits.into(),
                exponent: exponent + point,
            });
        }
        Some(Self::beyond(
            negative,
            digits,
            below,
            &add(magnitude, if below { -point } else { point }),
        ))
    }

    /// A number with a huge exponent, of which the sign and the magnitude are given.
    fn beyond(negative: bool, digits: &str, below: bool, magnitude: &str) -> Self {
        // Near the limit, another spelling of the number may not be beyond it.
        if let Ok(exponent) = magnitude.parse::<i64>()
            && exponent <= EXPONENT_MAX
        {
            return Self {
                negative,
                digits: digits.into(),
                exponent: if below { -exponent } else { exponent },
            };
        }
        Self {
            negative,
            digits: (sortable(below, magnitude) + digits).into(),
            exponent: if below { i64::MIN } else { i64::MAX },
        }
    }

    pub const fn is_zero(&self) -> bool {
        self.digits.is_empty()
    }

    /// Whether there are only zeros after the decimal point.
    pub fn is_whole(&self) -> bool {
        self.precision() <= self.exponent
    }

    /// The number of significant digits.
    fn precision(&self) -> i64 {
        i64::try_from(self.digits.len()).unwrap_or(i64::MAX)
    }

    /// The whole number, if it is one and fits.
    fn whole(&self) -> Option<i128> {
        const DIGITS_MAX: i64 = 39;
        if !self.is_whole() || self.exponent > DIGITS_MAX {
            return None;
        }
        let zeros = u32::try_from(self.exponent - self.precision()).ok()?;
        // There is one more number below zero than above.
        let sign = if self.negative { -1 } else { 1 };
        let significant = self.digits.bytes().try_fold(0_i128, |sum, digit| {
            sum.checked_mul(10)?
                .checked_add(sign * i128::from(digit - b'0'))
        })?;
        significant.checked_mul(10_i128.checked_pow(zeros)?)
    }

    pub fn class(&self) -> NumberClass {
        if self.is_whole() {
            return match self.whole() {
                Some(n) if i32::try_from(n).is_ok() => NumberClass::Integer,
                Some(n) if i64::try_from(n).is_ok() => NumberClass::Long,
                Some(_) => NumberClass::BigInteger,
                None => NumberClass::UnboundInteger,
            };
        }
        let precision = self.precision();
        let scale = precision.saturating_sub(self.exponent);
        if precision <= 15 && scale <= 292 {
            NumberClass::Double
        } else if scale <= 18
            && (precision <= 38 && precision - scale <= 20
                || self.fits_at_scale_18(precision, scale))
        {
            NumberClass::BigDecimal
        } else {
            NumberClass::UnboundDecimal
        }
    }

    /// The class of a literal; none if it is not a number. Short literals, which nearly all are,
    /// are classified without parsing.
    pub fn class_of(literal: &str) -> Option<NumberClass> {
        class_of_short(literal).or_else(|| Some(Self::parse(literal)?.class()))
    }

    /// Whether the number times 10¹⁸ fits 128 bits.
    fn fits_at_scale_18(&self, precision: i64, scale: i64) -> bool {
        precision <= 39
            && precision - scale <= 21
            && Self {
                exponent: self.exponent + 18,
                ..self.clone()
            }
            .whole()
            .is_some()
    }

    /// Adds bytes that sort like numbers; numbers that agree in their first `digits_max` digits may
    /// have equal bytes.
    pub fn write_sortable(&self, digits_max: usize, bytes: &mut Vec<u8>) {
        const ZERO: u8 = 1;
        if self.is_zero() {
            return bytes.push(ZERO);
        }
        let kept = &self.digits.as_bytes()[..self.digits.len().min(digits_max)];
        let exponent = self.exponent.cast_unsigned() ^ (1 << 63);
        let magnitude = exponent
            .to_be_bytes()
            .into_iter()
            .chain(kept.iter().copied());
        // The end sorts before more digits, which are further from zero.
        if self.negative {
            bytes.push(ZERO - 1);
            bytes.extend(magnitude.map(|byte| !byte));
            bytes.push(!0x00);
        } else {
            bytes.push(ZERO + 1);
            bytes.extend(magnitude);
            bytes.push(0x00);
        }
    }

    fn magnitude_cmp(&self, other: &Self) -> Ordering {
        match (self.is_zero(), other.is_zero()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            (false, false) => self
                .exponent
                .cmp(&other.exponent)
                .then_with(|| self.digits.cmp(&other.digits)),
        }
    }
}

impl fmt::Display for Number {
    /// One notation for each value; not that of JSON.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.negative { "-" } else { "" };
        write!(f, "{sign}0.{}e{}", self.digits, self.exponent)
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.negative, other.negative) {
            (false, false) => self.magnitude_cmp(other),
            (true, true) => other.magnitude_cmp(self),
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
        }
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The class of a literal of a few digits without an exponent; none for any other.
fn class_of_short(literal: &str) -> Option<NumberClass> {
    // A fraction is then a double, and a whole number fits 64 bits.
    const CHARS_MAX: usize = 15;
    let digits = literal.strip_prefix('-').unwrap_or(literal);
    if digits.len() > CHARS_MAX {
        return None;
    }
    // Shorter than a search pays off.
    let dot = digits.bytes().position(|byte| byte == b'.');
    let (whole, fraction) = match dot {
        Some(dot) => (&digits[..dot], &digits[dot + 1..]),
        None => (digits, "0"),
    };
    if !is_digits(whole) || !is_digits(fraction) || whole.len() > 1 && whole.starts_with('0') {
        return None;
    }
    if fraction.bytes().any(|digit| digit != b'0') {
        return Some(NumberClass::Double);
    }
    let end = literal.len() - digits.len() + whole.len();
    let is_integer = literal[..end].parse::<i32>().is_ok();
    Some(if is_integer {
        NumberClass::Integer
    } else {
        NumberClass::Long
    })
}

/// Whether an exponent is below zero, and its magnitude, without leading zeros.
fn exponent_sign(text: &str) -> Option<(bool, &str)> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let magnitude = digits.trim_start_matches('0');
    is_digits(digits).then_some((negative, if magnitude.is_empty() { "0" } else { magnitude }))
}

/// The sum of a number that is given by its digits, and another one that is not further below zero.
fn add(digits: &str, other: i64) -> String {
    let mut sum = digits.as_bytes().to_vec();
    let mut carry = other;
    for digit in sum.iter_mut().rev() {
        let with = i64::from(*digit - b'0') + carry;
        carry = with.div_euclid(10);
        *digit = b"0123456789"[usize::try_from(with.rem_euclid(10)).unwrap_or_default()];
    }
    let sum = String::from_utf8_lossy(&sum);
    let sum = if carry > 0 {
        format!("{carry}{sum}")
    } else {
        sum.into_owned()
    };
    sum.trim_start_matches('0').to_owned()
}

/// A huge exponent as digits that sort like it, of which none begin others: how many there are,
/// always in the same length, and then they. Below zero, each is the complement to nine.
fn sortable(below: bool, magnitude: &str) -> String {
    let digits = format!("{:020}{magnitude}", magnitude.len());
    if !below {
        return digits;
    }
    let complement = |digit| char::from(b'9' - (digit - b'0'));
    digits.bytes().map(complement).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn number(literal: &str) -> Number {
        Number::parse(literal).expect(literal)
    }

    #[test]
    fn numbers_are_classified_by_value() {
        use NumberClass as C;
        for (literal, class) in [
            ("7", C::Integer),
            ("0", C::Integer),
            ("-0.0", C::Integer),
            ("1.0", C::Integer),
            ("1e2", C::Integer),
            ("42.00", C::Integer),
            ("2147483647", C::Integer),
            ("2147483648", C::Long),
            ("-2147483648", C::Integer),
            ("-2147483649", C::Long),
            ("9223372036854775807", C::Long),
            ("9223372036854775808", C::BigInteger),
            ("170141183460469231731687303715884105727", C::BigInteger),
            ("170141183460469231731687303715884105728", C::UnboundInteger),
            (
                "1234567890123456789012345678901234567890",
                C::UnboundInteger,
            ),
            ("13.111", C::Double),
            ("12345678901234567800.12345678901234567", C::BigDecimal),
            ("0.1234567890123456789", C::UnboundDecimal),
            ("1.7976931348623157E308", C::UnboundInteger),
            ("1e1000000000", C::UnboundInteger),
            ("1e-1000000000", C::UnboundDecimal),
            ("1e99999999999999999999", C::UnboundInteger),
            ("1e-292", C::Double),
            ("1e-293", C::UnboundDecimal),
        ] {
            assert_eq!(number(literal).class(), class, "{literal}");
            assert_eq!(Number::class_of(literal), Some(class), "{literal}");
        }
        for none in ["", "-", "01", "1.", ".5", "+1", "1.2.3", "0x1", "1 "] {
            assert_eq!(Number::class_of(none), None, "{none}");
        }
    }

    #[test]
    fn spelling_does_not_matter() {
        for same in [
            ["5", "5.0", "5E0"],
            ["0", "-0", "0e9"],
            ["100", "1e2", "1000e-1"],
            ["-0.5", "-5e-1", "-0.50"],
            [
                "1e99999999999999999999",
                "10e99999999999999999998",
                "0.001e0100000000000000000002",
            ],
            [
                "1e-99999999999999999999",
                "100e-100000000000000000001",
                "0.1e-99999999999999999998",
            ],
            // At the limit of what is computed with.
            [
                "1e4611686018427387903",
                "0.1e4611686018427387904",
                "10e4611686018427387902",
            ],
            [
                "1e-4611686018427387903",
                "0.1e-4611686018427387902",
                "10e-4611686018427387904",
            ],
        ] {
            assert!(
                same.iter()
                    .all(|literal| number(literal) == number(same[0])),
                "{same:?}"
            );
        }
    }

    #[test]
    fn order_is_exact() {
        let ascending = [
            "-1e99999999999999999999",
            "-1e99999999999999999998",
            "-1e9223372036854775807",
            "-1e400",
            "-9007199254740993",
            "-9007199254740992",
            "-1.5",
            "-1e-400",
            "-1e-99999999999999999999",
            "0",
            "1e-100000000000000000000",
            "1e-99999999999999999999",
            "2e-99999999999999999999",
            "1e-99999999999999999998",
            "1e-9223372036854775807",
            "1e-400",
            "0.1",
            "0.10000000000000000001",
            "1",
            "9",
            "10",
            "9007199254740992",
            "9007199254740993",
            "1e400",
            "1.1e400",
            "1e4611686018427387902",
            "1e4611686018427387903",
            "1e9223372036854775806",
            "1e9223372036854775807",
            "1e99999999999999999998",
            "2e99999999999999999998",
            "1e99999999999999999999",
            "1e100000000000000000000",
        ];
        for pair in ascending.windows(2) {
            let (low, high) = (number(pair[0]), number(pair[1]));
            assert!(low < high, "{pair:?}");
            let bytes = |number: &Number| {
                let mut bytes = Vec::new();
                number.write_sortable(usize::MAX, &mut bytes);
                bytes
            };
            assert!(bytes(&low) < bytes(&high), "{pair:?}");
        }
    }

    #[test]
    fn only_json_numbers_are_numbers() {
        for text in [
            "", "-", "+1", "01", "1.", ".5", "1e", "1e+", "0x1", "NaN", "Infinity", "1 ", "١",
        ] {
            assert!(Number::parse(text).is_none(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn short_literals_are_classified_as_long_ones_are(literal in "-?[0-9]{1,11}(\\.[0-9]{1,6})?(e-?[0-9])?") {
            let class = Number::parse(&literal).map(|number| number.class());
            prop_assert_eq!(Number::class_of(&literal), class);
        }

        #[test]
        fn whole_numbers_are_ordered_as_whole_numbers(a in any::<i64>(), b in any::<i64>()) {
            prop_assert_eq!(number(&a.to_string()).cmp(&number(&b.to_string())), a.cmp(&b));
        }

        #[test]
        fn fractions_are_ordered_as_fractions(a in any::<i32>(), b in any::<i32>(), places in 1_u32..9) {
            let literal = |n: i32| format!("{n}e-{places}");
            prop_assert_eq!(number(&literal(a)).cmp(&number(&literal(b))), a.cmp(&b));
        }
    }
}
