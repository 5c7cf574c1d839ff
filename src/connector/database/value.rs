//! JSON values as values of statements.

use std::borrow::Cow;

use crate::entity::{Number, NumberClass};
use crate::expr::string;

/// A value that is bound to a statement; it is never part of its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    Null,
    Bool(bool),
    Int(i64),
    /// The digits of a number that is not an `Int`.
    Decimal(Box<str>),
    Text(Box<str>),
    /// A list or an object.
    Json(Box<str>),
}

/// The largest number up to which a binary fraction of 64 bits has every integer.
const DOUBLE_INT_MAX: u64 = 1 << 53;

/// The significant digits that every binary fraction of 64 bits keeps.
const DOUBLE_DIGITS: usize = 15;

impl Value {
    /// The value of a JSON text.
    pub(super) fn of(json: &str) -> Self {
        match json.as_bytes().first() {
            Some(b'n') | None => Self::Null,
            Some(b't') => Self::Bool(true),
            Some(b'f') => Self::Bool(false),
            Some(b'"') => Self::Text(string(json).unwrap_or_default().into()),
            Some(b'{' | b'[') => Self::Json(json.into()),
            Some(_) => json
                .parse()
                .map_or_else(|_| Self::Decimal(json.into()), Self::Int),
        }
    }

    /// The digits of a number that a binary fraction may not keep.
    pub(super) fn inexact(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Decimal(digits) if exact_double(digits).is_none() => {
                Some(Cow::Borrowed(&**digits))
            }
            Self::Int(number) if number.unsigned_abs() > DOUBLE_INT_MAX => {
                Some(number.to_string().into())
            }
            Self::Null
            | Self::Bool(_)
            | Self::Int(_)
            | Self::Decimal(_)
            | Self::Text(_)
            | Self::Json(_) => None,
        }
    }

    /// The text of a value; none of null.
    pub(super) fn text(&self) -> Option<String> {
        match self {
            Self::Null => None,
            Self::Bool(truth) => Some(truth.to_string()),
            Self::Int(number) => Some(number.to_string()),
            Self::Decimal(text) | Self::Text(text) | Self::Json(text) => Some(text.to_string()),
        }
    }
}

/// A number as a binary fraction, if that keeps every digit.
pub(super) fn exact_double(digits: &str) -> Option<f64> {
    let number = Number::parse(digits)?;
    let significant = digits
        .split(['e', 'E'])
        .next()?
        .trim_start_matches(['-', '0', '.'])
        .bytes()
        .filter(u8::is_ascii_digit)
        .count();
    let is_small = significant <= DOUBLE_DIGITS && number.class() != NumberClass::UnboundDecimal;
    let double: f64 = digits.parse().ok()?;
    (is_small && double.is_finite()).then_some(double)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_digits() {
        assert_eq!(Value::of("-7"), Value::Int(-7));
        assert_eq!(Value::of("9223372036854775807"), Value::Int(i64::MAX));
        let large = "9223372036854775808";
        assert_eq!(Value::of(large), Value::Decimal(large.into()));
        assert_eq!(Value::of("1.50"), Value::Decimal("1.50".into()));
        assert_eq!(Value::of("1e3"), Value::Decimal("1e3".into()));
    }

    #[test]
    fn large_integers_may_be_rounded_too() {
        let inexact = |json: &str| Value::of(json).inexact().map(Cow::into_owned);
        assert_eq!(inexact("9007199254740992"), None);
        for large in [
            "9007199254740993",
            "-9007199254740993",
            "12345678901234567890.1",
        ] {
            assert_eq!(inexact(large).as_deref(), Some(large));
        }
        assert_eq!(inexact("1.5"), None);
    }

    #[test]
    fn a_fraction_is_binary_only_if_nothing_is_lost() {
        assert_eq!(exact_double("99.99"), Some(99.99));
        assert_eq!(exact_double("-0.5"), Some(-0.5));
        assert_eq!(exact_double("1e3"), Some(1_000.0));
        assert_eq!(exact_double("12345678901234567890.1234"), None);
        assert_eq!(exact_double("0.1234567890123456789"), None);
        assert_eq!(exact_double("1e400"), None);
    }
}
