//! The types of leaves, and sets of them.

use std::fmt;

use crate::compat::Compat;
use crate::entity::{NumberClass, TemporalClass};

macro_rules! data_types {
    ($($name:ident = $text:literal,)*) => {
        /// The type of a leaf, in the order in which sets are written (`models-and-entities.md` §3.2).
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum DataType { $($name,)* }

        impl DataType {
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The name on the wire.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            pub fn from_name(name: &str) -> Option<Self> {
                match name { $($text => Some(Self::$name),)* _ => None }
            }
        }
    };
}

data_types! {
    Integer = "INTEGER",
    Long = "LONG",
    BigInteger = "BIG_INTEGER",
    UnboundInteger = "UNBOUND_INTEGER",
    Double = "DOUBLE",
    BigDecimal = "BIG_DECIMAL",
    UnboundDecimal = "UNBOUND_DECIMAL",
    String = "STRING",
    Character = "CHARACTER",
    LocalDate = "LOCAL_DATE",
    LocalDateTime = "LOCAL_DATE_TIME",
    LocalTime = "LOCAL_TIME",
    ZonedDateTime = "ZONED_DATE_TIME",
    Year = "YEAR",
    YearMonth = "YEAR_MONTH",
    Uuid = "UUID_TYPE",
    TimeUuid = "TIME_UUID_TYPE",
    ByteArray = "BYTE_ARRAY",
    Boolean = "BOOLEAN",
    Null = "NULL",
}

impl DataType {
    pub const fn is_integer(self) -> bool {
        matches!(
            self,
            Self::Integer | Self::Long | Self::BigInteger | Self::UnboundInteger
        )
    }

    pub const fn is_decimal(self) -> bool {
        matches!(self, Self::Double | Self::BigDecimal | Self::UnboundDecimal)
    }

    pub const fn is_numeric(self) -> bool {
        self.is_integer() || self.is_decimal()
    }

    pub const fn is_temporal(self) -> bool {
        matches!(
            self,
            Self::LocalDate
                | Self::LocalDateTime
                | Self::LocalTime
                | Self::ZonedDateTime
                | Self::Year
                | Self::YearMonth
        )
    }

    /// Whether it is a string in JSON that inference can distinguish.
    fn is_text(self) -> bool {
        self == Self::String || self.is_temporal()
    }

    /// Whether a value of this type is assignable to `declared` (`models-and-entities.md` §4.2).
    pub fn is_assignable_to(self, declared: Self) -> bool {
        let is_wider = declared.is_numeric() && declared != self;
        let widens = match self {
            Self::Null => return true,
            Self::Integer => is_wider,
            Self::Long => is_wider && !matches!(declared, Self::Integer | Self::Double),
            Self::BigInteger => matches!(declared, Self::UnboundInteger | Self::UnboundDecimal),
            Self::UnboundInteger | Self::Double | Self::BigDecimal => {
                declared == Self::UnboundDecimal
            }
            Self::UnboundDecimal
            | Self::String
            | Self::Character
            | Self::LocalDate
            | Self::LocalDateTime
            | Self::LocalTime
            | Self::ZonedDateTime
            | Self::Year
            | Self::YearMonth
            | Self::Uuid
            | Self::TimeUuid
            | Self::ByteArray
            | Self::Boolean => false,
        };
        self == declared || widens
    }

    /// The narrowest numeric type that contains both.
    fn numeric_join(self, other: Self) -> Self {
        Self::ALL
            .iter()
            .copied()
            .find(|wider| {
                wider.is_numeric()
                    && self.is_assignable_to(*wider)
                    && other.is_assignable_to(*wider)
            })
            .unwrap_or(Self::UnboundDecimal)
    }
}

impl From<NumberClass> for DataType {
    fn from(class: NumberClass) -> Self {
        match class {
            NumberClass::Integer => Self::Integer,
            NumberClass::Long => Self::Long,
            NumberClass::BigInteger => Self::BigInteger,
            NumberClass::UnboundInteger => Self::UnboundInteger,
            NumberClass::Double => Self::Double,
            NumberClass::BigDecimal => Self::BigDecimal,
            NumberClass::UnboundDecimal => Self::UnboundDecimal,
        }
    }
}

impl From<TemporalClass> for DataType {
    fn from(class: TemporalClass) -> Self {
        match class {
            TemporalClass::ZonedDateTime => Self::ZonedDateTime,
            TemporalClass::LocalDateTime => Self::LocalDateTime,
            TemporalClass::LocalDate => Self::LocalDate,
            TemporalClass::LocalTime => Self::LocalTime,
            TemporalClass::YearMonth => Self::YearMonth,
            TemporalClass::Year => Self::Year,
        }
    }
}

/// A set of types, at most one of them numeric, `NULL` only when alone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Types(u32);

impl Types {
    pub const EMPTY: Self = Self(0);

    pub const fn of(data_type: DataType) -> Self {
        Self(1 << data_type as u32)
    }

    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub const fn contains(self, data_type: DataType) -> bool {
        self.0 & Self::of(data_type).0 != 0
    }

    pub fn iter(self) -> impl Iterator<Item = DataType> {
        DataType::ALL
            .iter()
            .copied()
            .filter(move |data_type| self.contains(*data_type))
    }

    pub fn any(self, test: impl Fn(DataType) -> bool) -> bool {
        self.iter().any(test)
    }

    /// The union of both: numbers become their common type, and `NULL` disappears beside any other
    /// type.
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        let all = Self(self.0 | other.0);
        let numeric = all
            .iter()
            .filter(|data_type| data_type.is_numeric())
            .reduce(DataType::numeric_join);
        let others = all
            .iter()
            .filter(|data_type| !data_type.is_numeric() && *data_type != DataType::Null);
        let merged = others.chain(numeric).fold(Self::EMPTY, |set, data_type| {
            Self(set.0 | Self::of(data_type).0)
        });
        if merged.is_empty() { all } else { merged }
    }

    /// Whether a leaf of type `actual` is accepted.
    ///
    /// A field declared as text or as a time accepts any text (`models-and-entities.md` §3.4),
    /// unless the profile distinguishes them.
    pub fn accept(self, actual: DataType, compat: Compat) -> bool {
        self.contains(actual)
            || actual.is_text() && self.accept_any_text(compat)
            || self.any(|declared| actual.is_assignable_to(declared))
    }

    /// Whether any text is accepted, so that it need not be classified.
    pub fn accept_any_text(self, compat: Compat) -> bool {
        !compat.times_are_no_texts() && self.any(DataType::is_text)
    }

    /// Whether only null was seen, or nothing at all.
    pub(super) fn is_without_value(self) -> bool {
        self.is_empty() || self == Self::of(DataType::Null)
    }

    /// Whether both are the same types, as far as the profile distinguishes them.
    pub(super) fn says_the_same_as(self, other: Self, compat: Compat) -> bool {
        if compat.times_are_no_texts() {
            self == other
        } else {
            self.without_times() == other.without_times()
        }
    }

    /// The types of `self` that `declared` does not contain.
    pub(super) fn beyond(self, declared: Self, compat: Compat) -> Self {
        let is_known = |data_type: DataType| {
            declared.merge(Self::of(data_type)) == declared
                || data_type.is_text() && declared.accept(data_type, compat)
        };
        self.iter()
            .filter(|data_type| !is_known(*data_type))
            .fold(Self::EMPTY, |set, data_type| {
                Self(set.0 | Self::of(data_type).0)
            })
    }

    /// The same with all kinds of text as `STRING`.
    fn without_times(self) -> Self {
        self.iter().fold(Self::EMPTY, |set, data_type| {
            let data_type = if data_type.is_temporal() {
                DataType::String
            } else {
                data_type
            };
            Self(set.0 | Self::of(data_type).0)
        })
    }
}

impl fmt::Display for Types {
    /// `T`, `[T1, T2]`, or `NULL` for none (`models-and-entities.md` §5).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.iter().map(DataType::as_str).collect();
        match names.as_slice() {
            [] => f.write_str(DataType::Null.as_str()),
            [one] => f.write_str(one),
            many => write!(f, "[{}]", many.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_of_both_families_meet_where_documented() {
        use DataType as T;
        for (a, b, meet) in [
            (T::Integer, T::Double, T::Double),
            (T::Integer, T::BigDecimal, T::BigDecimal),
            (T::Long, T::BigDecimal, T::BigDecimal),
            (T::Long, T::Double, T::UnboundDecimal),
            (T::BigInteger, T::Double, T::UnboundDecimal),
            (T::BigInteger, T::BigDecimal, T::UnboundDecimal),
            (T::UnboundInteger, T::Double, T::UnboundDecimal),
            (T::Double, T::BigDecimal, T::UnboundDecimal),
            (T::Integer, T::Long, T::Long),
            (T::Integer, T::Integer, T::Integer),
        ] {
            assert_eq!(
                Types::of(a).merge(Types::of(b)),
                Types::of(meet),
                "{a:?} {b:?}"
            );
        }
    }

    #[test]
    fn null_gives_way_and_sets_are_written_in_order() {
        let both = Types::of(DataType::String)
            .merge(Types::of(DataType::Null))
            .merge(Types::of(DataType::Integer));
        assert_eq!(both.to_string(), "[INTEGER, STRING]");
        assert_eq!(
            Types::of(DataType::Null).merge(Types::EMPTY).to_string(),
            "NULL"
        );
    }

    fn any_types() -> impl Strategy<Value = Types> {
        prop::collection::vec(prop::sample::select(DataType::ALL), 0..5).prop_map(|list| {
            list.into_iter().fold(Types::EMPTY, |set, data_type| {
                set.merge(Types::of(data_type))
            })
        })
    }

    proptest! {
        #[test]
        fn merging_is_commutative_associative_and_idempotent(a in any_types(), b in any_types(), c in any_types()) {
            prop_assert_eq!(a.merge(b), b.merge(a));
            prop_assert_eq!(a.merge(b).merge(c), a.merge(b.merge(c)));
            prop_assert_eq!(a.merge(a), a);
        }
    }
}
