//! The operators, and the spellings clients use for them.

use super::Comparison;

macro_rules! operators {
    ($($name:ident = $text:literal $(| $alias:literal)*;)*) => {
        /// An operator of a leaf (`workflow-engine.md` §2.2, `search.md` §2).
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Operator { $($name,)* }

        impl Operator {
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            /// The operator of that name; names are exact upper case.
            pub fn from_name(name: &str) -> Option<Self> {
                match name { $($text $(| $alias)* => Some(Self::$name),)* _ => None }
            }
        }
    };
}

operators! {
    Between = "BETWEEN";
    BetweenInclusive = "BETWEEN_INCLUSIVE";
    Contains = "CONTAINS";
    EndsWith = "ENDS_WITH";
    Equals = "EQUALS";
    GreaterOrEqual = "GREATER_OR_EQUAL" | "GREATER_THAN_OR_EQUAL";
    GreaterThan = "GREATER_THAN";
    IContains = "ICONTAINS";
    IEndsWith = "IENDS_WITH";
    IEquals = "IEQUALS";
    In = "IN";
    INotContains = "INOT_CONTAINS";
    INotEndsWith = "INOT_ENDS_WITH";
    INotEqual = "INOT_EQUAL";
    INotStartsWith = "INOT_STARTS_WITH";
    IsChanged = "IS_CHANGED";
    IsNull = "IS_NULL";
    IsUnchanged = "IS_UNCHANGED";
    IStartsWith = "ISTARTS_WITH";
    LessOrEqual = "LESS_OR_EQUAL" | "LESS_THAN_OR_EQUAL";
    LessThan = "LESS_THAN";
    Like = "LIKE";
    MatchesPattern = "MATCHES_PATTERN";
    NotContains = "NOT_CONTAINS";
    NotEndsWith = "NOT_ENDS_WITH";
    NotEqual = "NOT_EQUAL" | "NOT_EQUALS";
    NotIn = "NOT_IN";
    NotNull = "NOT_NULL";
    NotStartsWith = "NOT_STARTS_WITH";
    StartsWith = "STARTS_WITH";
}

/// How text is tested against an operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextTest {
    Equals,
    Contains,
    StartsWith,
    EndsWith,
}

/// The kind of operand that an operator needs.
pub(super) enum Family {
    Changed {
        negated: bool,
    },
    IsNull,
    NotNull,
    Compare(Comparison),
    Between {
        inclusive: bool,
    },
    In {
        negated: bool,
    },
    Text {
        test: TextTest,
        fold: bool,
        negated: bool,
    },
    Like,
    Pattern,
}

impl Operator {
    /// The names, sorted, for messages.
    pub(super) fn names() -> String {
        Self::listed(|_| true)
    }

    /// The same without those that compare with the previous version, which a search has not.
    pub(super) fn names_in_searches() -> String {
        Self::listed(|operator| !matches!(operator.family(), Family::Changed { .. }))
    }

    fn listed(is_known: impl Fn(Self) -> bool) -> String {
        let known = Self::ALL.iter().filter(|operator| is_known(**operator));
        let mut names: Vec<_> = known.map(|operator| operator.as_str()).collect();
        names.sort_unstable();
        names.join(", ")
    }

    /// Whether all operands of a list must be satisfied instead of any (`workflow-engine.md` §2.8).
    pub(super) fn is_negative(self) -> bool {
        self.as_str().contains("NOT_") && self != Self::NotNull
    }

    pub(super) const fn family(self) -> Family {
        use TextTest as T;
        const fn text(test: TextTest, fold: bool, negated: bool) -> Family {
            Family::Text {
                test,
                fold,
                negated,
            }
        }
        match self {
            Self::IsChanged => Family::Changed { negated: false },
            Self::IsUnchanged => Family::Changed { negated: true },
            Self::IsNull => Family::IsNull,
            Self::NotNull => Family::NotNull,
            Self::Equals => Family::Compare(Comparison::Equal),
            Self::NotEqual => Family::Compare(Comparison::NotEqual),
            Self::LessThan => Family::Compare(Comparison::Less),
            Self::LessOrEqual => Family::Compare(Comparison::LessOrEqual),
            Self::GreaterThan => Family::Compare(Comparison::Greater),
            Self::GreaterOrEqual => Family::Compare(Comparison::GreaterOrEqual),
            Self::Between => Family::Between { inclusive: false },
            Self::BetweenInclusive => Family::Between { inclusive: true },
            Self::In => Family::In { negated: false },
            Self::NotIn => Family::In { negated: true },
            Self::Contains => text(T::Contains, false, false),
            Self::NotContains => text(T::Contains, false, true),
            Self::StartsWith => text(T::StartsWith, false, false),
            Self::NotStartsWith => text(T::StartsWith, false, true),
            Self::EndsWith => text(T::EndsWith, false, false),
            Self::NotEndsWith => text(T::EndsWith, false, true),
            Self::IEquals => text(T::Equals, true, false),
            Self::INotEqual => text(T::Equals, true, true),
            Self::IContains => text(T::Contains, true, false),
            Self::INotContains => text(T::Contains, true, true),
            Self::IStartsWith => text(T::StartsWith, true, false),
            Self::INotStartsWith => text(T::StartsWith, true, true),
            Self::IEndsWith => text(T::EndsWith, true, false),
            Self::INotEndsWith => text(T::EndsWith, true, true),
            Self::Like => Family::Like,
            Self::MatchesPattern => Family::Pattern,
        }
    }
}
