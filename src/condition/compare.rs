//! Compares a stored value with an operand, according to the declared types (`workflow-engine.md`
//! §2.4 and §2.5).

use std::cmp::Ordering;

use super::Comparison;
use crate::entity::{Number, Shape, Temporal, TemporalClass, Value};
use crate::model::{DataType, Types};

/// The operand of a comparison, parsed in every way in which it can be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operand {
    /// The operand as text: `30` and `"30"` are the same; none for a null, which never matches.
    text: Option<Box<str>>,
    pub(super) number: Option<Number>,
    time: Option<Temporal>,
}

impl Operand {
    pub(super) const NULL: Self = Self {
        text: None,
        number: None,
        time: None,
    };

    /// Reads a scalar; none for an object or a list.
    pub(super) fn read(value: Value<'_>) -> Option<Self> {
        let text: Box<str> = match value.shape() {
            Shape::Null => return Some(Self::NULL),
            Shape::Bool(truth) => if truth { "true" } else { "false" }.into(),
            Shape::Number(literal) => literal.into(),
            Shape::String(text) => text.into(),
            Shape::Array(_) | Shape::Object(_) => return None,
        };
        Some(Self {
            number: Number::parse(&text),
            time: Temporal::parse(&text),
            text: Some(text),
        })
    }

    pub fn text(&self) -> Option<&str> {
        self.text.as_deref()
    }

    pub(super) fn into_text(self) -> Option<Box<str>> {
        self.text
    }

    pub(super) fn truth(&self) -> Option<bool> {
        match self.text()? {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        }
    }

    /// Whether the operand is a valid value of a declared type.
    pub(super) fn fits(&self, declared: Types) -> bool {
        use DataType as T;
        let Some(text) = self.text() else { return true };
        declared.any(|data_type| match data_type {
            T::String => true,
            T::Character => text.chars().count() == 1,
            T::Boolean => self.truth().is_some(),
            T::Uuid | T::TimeUuid => uuid::Uuid::try_parse(text).is_ok(),
            T::LocalTime => self
                .time
                .is_some_and(|time| time.class == TemporalClass::LocalTime),
            T::LocalDate | T::LocalDateTime | T::ZonedDateTime | T::Year | T::YearMonth => {
                self.is_time()
            }
            T::Integer
            | T::Long
            | T::BigInteger
            | T::UnboundInteger
            | T::Double
            | T::BigDecimal
            | T::UnboundDecimal => self.number.is_some(),
            T::ByteArray | T::Null => false,
        })
    }

    pub(super) const fn time(&self) -> Option<Temporal> {
        self.time
    }

    pub(super) fn is_time(&self) -> bool {
        self.time
            .is_some_and(|time| time.class != TemporalClass::LocalTime)
    }
}

impl Comparison {
    const fn accepts(self, order: Ordering) -> bool {
        match self {
            Self::Equal => order.is_eq(),
            Self::NotEqual => order.is_ne(),
            Self::Less => order.is_lt(),
            Self::LessOrEqual => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::GreaterOrEqual => order.is_ge(),
        }
    }

    const fn is_equality(self) -> bool {
        matches!(self, Self::Equal | Self::NotEqual)
    }

    /// Whether the comparison holds between the stored scalar and the operand.
    pub(super) fn holds(self, stored: &Shape<'_>, operand: &Operand, declared: Types) -> bool {
        Bounds(&[(self, operand)]).hold(stored, declared)
    }

    fn numbers(self, literal: &str, operand: &Operand, declared: Types) -> bool {
        let (Some(stored), Some(number)) = (Number::parse(literal), &operand.number) else {
            return false;
        };
        if !declared.is_empty() && !declared.any(DataType::is_numeric) {
            return false;
        }
        // If no value of the declared type can equal the operand, neither EQUALS nor NOT_EQUAL
        // holds.
        if self.is_equality() && !is_representable(number, declared) {
            return false;
        }
        self.accepts(stored.cmp(number))
    }

    fn truths(self, stored: bool, operand: &Operand, declared: Types) -> bool {
        let declared = declared.is_empty() || declared.contains(DataType::Boolean);
        match operand.truth() {
            Some(truth) if declared && self.is_equality() => self.accepts(stored.cmp(&truth)),
            _ => false,
        }
    }

    fn uuids(self, stored: &str, operand: &str) -> bool {
        if !self.is_equality() {
            return false;
        }
        let (Ok(a), Ok(b)) = (
            uuid::Uuid::try_parse(stored),
            uuid::Uuid::try_parse(operand),
        ) else {
            return false;
        };
        b.to_string() == operand && self.accepts(a.cmp(&b))
    }

    /// Compares times at the granularity of the stored one.
    pub(super) fn times(self, stored: Temporal, operand: Temporal) -> bool {
        let is_clock = |time: Temporal| time.class == TemporalClass::LocalTime;
        if is_clock(stored) != is_clock(operand) {
            return false;
        }
        let (Some(left), Some(right)) = (
            stored.floor_ms(stored.class),
            operand.floor_ms(stored.class),
        ) else {
            return false;
        };
        let exact = stored.class == TemporalClass::ZonedDateTime || right == operand.wall_ms;
        let comparison = match self {
            exactly if exact => exactly,
            Self::Equal => return false,
            Self::NotEqual => return true,
            // The stored value is a whole period; the operand lies within one, after its start.
            Self::GreaterOrEqual | Self::Greater => Self::Greater,
            Self::Less | Self::LessOrEqual => Self::LessOrEqual,
        };
        comparison.accepts(left.cmp(&right))
    }
}

/// Comparisons that hold together: one, or both ends of a range.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds<'a>(pub(super) &'a [(Comparison, &'a Operand)]);

impl Bounds<'_> {
    /// Whether all hold for a stored scalar, by the same reading of it (`workflow-engine.md` §2.4): a
    /// text that is a time, too, is not between an end that holds for the time and one that holds for
    /// the text.
    pub(super) fn hold(self, stored: &Shape<'_>, declared: Types) -> bool {
        match stored {
            Shape::Number(literal) => {
                self.all(|to, operand| to.numbers(literal, operand, declared))
            }
            Shape::String(text) => self.texts(text, declared),
            Shape::Bool(truth) => self.all(|to, operand| to.truths(*truth, operand, declared)),
            Shape::Null | Shape::Array(_) | Shape::Object(_) => false,
        }
    }

    fn texts(self, stored: &str, declared: Types) -> bool {
        let time = Temporal::parse(stored).filter(|time| declared.contains(time.class.into()));
        let is_text = declared.is_empty() || declared.contains(DataType::String);
        // A field declared as a time may hold any text; text that is not such a time is compared as
        // text.
        let is_other_text = time.is_none() && declared.any(DataType::is_temporal);
        let is_character = declared.contains(DataType::Character) && stored.chars().count() == 1;
        let is_uuid = declared.contains(DataType::Uuid) || declared.contains(DataType::TimeUuid);
        let of_text = |to: Comparison, operand: &Operand| {
            operand
                .text()
                .is_some_and(|text| to.accepts(stored.cmp(text)))
        };
        let of_uuid = |to: Comparison, operand: &Operand| {
            operand.text().is_some_and(|text| to.uuids(stored, text))
        };
        (is_text || is_other_text || is_character) && self.all(of_text)
            || is_uuid && self.all(of_uuid)
            || time.is_some_and(|time| {
                self.all(|to, operand| operand.time.is_some_and(|operand| to.times(time, operand)))
            })
    }

    fn all(self, holds: impl Fn(Comparison, &Operand) -> bool) -> bool {
        self.0
            .iter()
            .all(|(comparison, operand)| holds(*comparison, operand))
    }
}

/// Whether a value of the declared numeric types can equal this number.
pub(super) fn is_representable(number: &Number, declared: Types) -> bool {
    let class = DataType::from(number.class());
    declared.is_empty()
        || declared.any(DataType::is_decimal)
        || declared.any(|declared| declared.is_integer() && class.is_assignable_to(declared))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entity::Document;

    fn types(names: &str) -> Types {
        names
            .split_whitespace()
            .map(|name| DataType::from_name(name).expect(name))
            .fold(Types::EMPTY, |set, data_type| {
                set.merge(Types::of(data_type))
            })
    }

    /// Which of `= != < <= > >=` hold.
    fn relations(stored: &str, operand: &str, declared: &str) -> String {
        let (stored, operand) = (
            Document::parse(stored).expect(stored),
            Document::parse(operand).expect(operand),
        );
        let operand = Operand::read(operand.root()).expect("a scalar");
        [
            (Comparison::Equal, "="),
            (Comparison::NotEqual, "!"),
            (Comparison::Less, "<"),
            (Comparison::LessOrEqual, "≤"),
            (Comparison::Greater, ">"),
            (Comparison::GreaterOrEqual, "≥"),
        ]
        .into_iter()
        .filter(|(comparison, _)| {
            comparison.holds(&stored.root().shape(), &operand, types(declared))
        })
        .map(|(_, sign)| sign)
        .collect()
    }

    #[test]
    fn comparisons_are_directed_by_the_declared_types() {
        for (stored, operand, declared, held) in [
            // Numbers are exact, in whatever notation.
            ("5", "5.0", "INTEGER", "=≤≥"),
            ("5", "\"5E0\"", "INTEGER", "=≤≥"),
            ("9007199254740993", "9007199254740992", "LONG", "!>≥"),
            ("0.1", "0.10000000000000000001", "UNBOUND_DECIMAL", "!<≤"),
            ("3", "2.5", "INTEGER", ">≥"),
            ("2", "2.5", "INTEGER", "<≤"),
            ("2", "3000000000", "INTEGER", "<≤"),
            ("2", "-3000000000", "INTEGER", ">≥"),
            ("5", "5000000000", "DOUBLE", "!<≤"),
            ("5000000000", "5000000000", "DOUBLE", "=≤≥"),
            ("5", "\"x\"", "INTEGER", ""),
            ("5", "\"x\"", "INTEGER STRING", ""),
            ("5", "5", "STRING", ""),
            ("\"5\"", "5", "INTEGER", ""),
            ("5", "5", "", "=≤≥"),
            // Text.
            ("\"a\"", "\"b\"", "STRING", "!<≤"),
            ("\"5\"", "5", "STRING", "=≤≥"),
            ("\"10\"", "9", "STRING", "!<≤"),
            ("\"B\"", "\"a\"", "", "!<≤"),
            ("\"a\"", "null", "STRING", ""),
            ("\"\"", "null", "STRING", ""),
            // Booleans have no order.
            ("true", "\"true\"", "BOOLEAN", "="),
            ("true", "false", "", "!"),
            ("true", "1", "BOOLEAN", ""),
            ("true", "true", "STRING", ""),
            // Times.
            (
                "\"2024-01-02T00:00:00Z\"",
                "\"2024-01-02T01:00:00+01:00\"",
                "ZONED_DATE_TIME",
                "=≤≥",
            ),
            (
                "\"2024-01-02T00:00:00Z\"",
                "\"2024-01-02\"",
                "ZONED_DATE_TIME",
                "=≤≥",
            ),
            (
                "\"2024-01-02T00:00:00.0001Z\"",
                "\"2024-01-02T00:00:00Z\"",
                "ZONED_DATE_TIME",
                "=≤≥",
            ),
            (
                "\"2024-01-02\"",
                "\"2024-01-02T03:00\"",
                "LOCAL_DATE",
                "!<≤",
            ),
            (
                "\"2024-01-03\"",
                "\"2024-01-02T03:00\"",
                "LOCAL_DATE",
                "!>≥",
            ),
            (
                "\"2024-01-02\"",
                "\"2024-01-02T00:00Z\"",
                "LOCAL_DATE",
                "=≤≥",
            ),
            ("\"2024-01-02\"", "\"2024\"", "LOCAL_DATE", "!>≥"),
            ("\"2024\"", "\"2024-05\"", "YEAR", "!<≤"),
            (
                "\"2024-01-01T05:00:00\"",
                "\"2024-01-01T05:00:00+03:00\"",
                "LOCAL_DATE_TIME",
                "=≤≥",
            ),
            ("\"12:30\"", "\"12:30:00.5\"", "LOCAL_TIME", "!<≤"),
            ("\"12:30\"", "\"2024\"", "LOCAL_TIME", ""),
            ("\"2024\"", "\"12:30\"", "YEAR", ""),
            // Text in a field declared as a time.
            ("\"n/a\"", "\"n/a\"", "LOCAL_DATE", "=≤≥"),
            ("\"2024-01-02\"", "\"n/a\"", "LOCAL_DATE", ""),
        ] {
            assert_eq!(
                relations(stored, operand, declared),
                held,
                "{stored} ? {operand} [{declared}]"
            );
        }
    }
}
