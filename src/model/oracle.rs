//! A second implementation of schema merging for tests: small, slow, and simple.
//!
//! Here a schema is the set of everything seen at each path, so merging is the union of sets; the
//! types of a node are derived at the end from the tables of `models-and-entities.md` §3. Random
//! documents must give the same result in both.
#![cfg(test)]

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use regex::Regex;

use super::{DataType, Schema, schema::Node};
use crate::entity::{Document, Shape, Value};

/// Everything seen at one path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Observed {
    object: bool,
    array: bool,
    leaves: BTreeSet<DataType>,
}

/// By path: `.name` for a member, `[]` for the elements of a list.
type Observations = BTreeMap<Vec<String>, Observed>;

fn observe(value: Value<'_>, path: &[String], places: &mut Observations) {
    let below = |step: String| [path, &[step]].concat();
    let place = places.entry(path.to_vec()).or_default();
    match value.shape() {
        Shape::Null => {
            place.leaves.insert(DataType::Null);
        }
        Shape::Bool(_) => {
            place.leaves.insert(DataType::Boolean);
        }
        Shape::Number(literal) => {
            place.leaves.insert(number(literal));
        }
        Shape::String(text) => {
            place.leaves.insert(text_type(&text));
        }
        Shape::Object(members) => {
            place.object = true;
            for (name, value) in members {
                observe(value, &below(format!(".{name}")), places);
            }
        }
        Shape::Array(elements) => {
            place.array = true;
            let mut count = 0;
            for element in elements {
                observe(element, &below("[]".to_owned()), places);
                count += 1;
            }
            if count == 0 {
                places.entry(below("[]".to_owned())).or_default();
            }
        }
    }
}

/// What is seen in one document: the elements of lists that are all empty are null (§3.1).
fn places_in(document: &Document) -> Observations {
    let mut places = Observations::new();
    observe(document.root(), &[], &mut places);
    for place in places.values_mut() {
        if *place == Observed::default() {
            place.leaves.insert(DataType::Null);
        }
    }
    places
}

fn merge(a: &Observations, b: &Observations) -> Observations {
    let mut merged = a.clone();
    for (path, place) in b {
        let into = merged.entry(path.clone()).or_default();
        into.object |= place.object;
        into.array |= place.array;
        into.leaves.extend(&place.leaves);
    }
    merged
}

/// The types of a node at which these were seen (§3.5).
fn collapsed(leaves: &BTreeSet<DataType>) -> BTreeSet<DataType> {
    use DataType as T;
    const INTEGERS: [DataType; 4] = [T::Integer, T::Long, T::BigInteger, T::UnboundInteger];
    const DECIMALS: [DataType; 3] = [T::Double, T::BigDecimal, T::UnboundDecimal];
    let widest = |family: &[DataType]| {
        family
            .iter()
            .rev()
            .find(|one| leaves.contains(one))
            .copied()
    };
    let mut types: BTreeSet<_> = leaves
        .iter()
        .copied()
        .filter(|one| !INTEGERS.contains(one) && !DECIMALS.contains(one))
        .collect();
    types.extend(match (widest(&INTEGERS), widest(&DECIMALS)) {
        (integer, None) => integer,
        (_, Some(decimal)) => {
            let takes_all = leaves.iter().all(|one| {
                !(INTEGERS.contains(one) || DECIMALS.contains(one)) || goes_into(*one, decimal)
            });
            Some(if takes_all {
                decimal
            } else {
                T::UnboundDecimal
            })
        }
    });
    if types.len() > 1 {
        types.remove(&T::Null);
    }
    types
}

/// The table of §4.2, row by row.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "what is not numeric has no row"
)]
fn goes_into(from: DataType, to: DataType) -> bool {
    use DataType as T;
    let row: &[DataType] = match from {
        T::Integer => &[
            T::Integer,
            T::Long,
            T::BigInteger,
            T::UnboundInteger,
            T::Double,
            T::BigDecimal,
            T::UnboundDecimal,
        ],
        T::Long => &[
            T::Long,
            T::BigInteger,
            T::UnboundInteger,
            T::BigDecimal,
            T::UnboundDecimal,
        ],
        T::BigInteger => &[T::BigInteger, T::UnboundInteger, T::UnboundDecimal],
        T::UnboundInteger => &[T::UnboundInteger, T::UnboundDecimal],
        T::Double => &[T::Double, T::UnboundDecimal],
        T::BigDecimal => &[T::BigDecimal, T::UnboundDecimal],
        _ => &[T::UnboundDecimal],
    };
    row.contains(&to)
}

/// The class of a literal (§3.3), by writing it out without an exponent.
fn number(literal: &str) -> DataType {
    use DataType as T;
    let (mantissa, exponent) = literal.split_once(['e', 'E']).unwrap_or((literal, "0"));
    let (negative, mantissa) = match mantissa.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, mantissa),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let is_zero = (whole.to_owned() + fraction)
        .chars()
        .all(|digit| digit == '0');
    if is_zero {
        return T::Integer;
    }
    // Millions of zeros are not written out: no table reaches that far.
    let exponent: i32 = match exponent.parse() {
        Ok(exponent) if (-5_000..=5_000).contains(&exponent) => exponent,
        _ if exponent.starts_with('-') => return T::UnboundDecimal,
        _ => return T::UnboundInteger,
    };
    let (mut whole, mut fraction) = (whole.to_owned(), fraction.to_owned());
    for _ in 0..exponent {
        if fraction.is_empty() {
            fraction.push('0');
        }
        whole.push(fraction.remove(0));
    }
    for _ in exponent..0 {
        if whole.is_empty() {
            whole.push('0');
        }
        fraction.insert(0, whole.pop().expect("a digit"));
    }
    let (whole, fraction) = (
        whole.trim_start_matches('0'),
        fraction.trim_end_matches('0'),
    );
    if fraction.is_empty() {
        let is_within = |bound: &str| (whole.len(), whole) <= (bound.len(), bound);
        let [int, long, int128] = if negative {
            [
                "2147483648",
                "9223372036854775808",
                "170141183460469231731687303715884105728",
            ]
        } else {
            [
                "2147483647",
                "9223372036854775807",
                "170141183460469231731687303715884105727",
            ]
        };
        return match () {
            () if is_within(int) => T::Integer,
            () if is_within(long) => T::Long,
            () if is_within(int128) => T::BigInteger,
            () => T::UnboundInteger,
        };
    }
    let scale = fraction.len();
    let unscaled = whole.to_owned() + fraction;
    let precision = unscaled.trim_start_matches('0').len();
    let before_point =
        i64::try_from(precision).expect("short") - i64::try_from(scale).expect("short");
    let at_scale_18 = || {
        let unscaled = format!(
            "{}{}",
            unscaled.trim_start_matches('0'),
            "0".repeat(18 - scale)
        );
        let bound = if negative {
            "170141183460469231731687303715884105728"
        } else {
            "170141183460469231731687303715884105727"
        };
        (unscaled.len(), unscaled.as_str()) <= (bound.len(), bound)
    };
    match () {
        () if precision <= 15 && scale <= 292 => T::Double,
        () if scale <= 18 && precision <= 38 && before_point <= 20 => T::BigDecimal,
        () if scale <= 18 && precision <= 39 && before_point <= 21 && at_scale_18() => {
            T::BigDecimal
        }
        () => T::UnboundDecimal,
    }
}

/// The class of a text (§3.4).
fn text_type(text: &str) -> DataType {
    use DataType as T;
    const DATE: &str = r"(\d{4})-(\d\d)-(\d\d)";
    const TIME: &str = r"([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,9})?)?";
    const OFFSET: &str = r"(Z|[+-](0\d|1[0-8])(:[0-5]\d)?)";
    let reads_as = |pattern: String| {
        Regex::new(&format!("(?-u)^(?:{pattern})$"))
            .expect("a pattern")
            .is_match(text)
    };
    let is_day = || {
        let part = |range: std::ops::Range<usize>| text[range].parse::<u32>().expect("digits");
        let (year, month, day): (u32, u32, u32) = (part(0..4), part(5..7), part(8..10));
        let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let days = match month {
            2 if is_leap => 29,
            2 => 28,
            4 | 6 | 9 | 11 => 30,
            1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
            _ => 0,
        };
        (1..=days).contains(&day)
    };
    match () {
        () if reads_as(format!("{DATE}T{TIME}{OFFSET}")) && is_day() => T::ZonedDateTime,
        () if reads_as(format!("{DATE}T{TIME}")) && is_day() => T::LocalDateTime,
        () if reads_as(DATE.to_owned()) && is_day() => T::LocalDate,
        () if reads_as(TIME.to_owned()) => T::LocalTime,
        () if reads_as(r"\d{4}-(0[1-9]|1[0-2])".to_owned()) => T::YearMonth,
        () if reads_as(r"\d{4}".to_owned()) => T::Year,
        () => T::String,
    }
}

/// A schema as the oracle would write it.
fn places_of(node: &Node, path: &[String], places: &mut Observations) {
    let place = Observed {
        object: node.members.is_some(),
        array: node.element.is_some(),
        leaves: node.types.iter().collect(),
    };
    places.insert(path.to_vec(), place);
    for (name, member) in node.members.iter().flatten() {
        places_of(member, &[path, &[format!(".{name}")]].concat(), places);
    }
    if let Some(element) = &node.element {
        places_of(element, &[path, &["[]".to_owned()]].concat(), places);
    }
}

fn any_number() -> impl Strategy<Value = String> {
    let bounds = prop::sample::select(vec![
        "2147483647",
        "2147483648",
        "2147483649",
        "9223372036854775807",
        "9223372036854775808",
        "9223372036854775809",
        "170141183460469231731687303715884105727",
        "170141183460469231731687303715884105728",
        "170141183460469231731.687303715884105727",
        "170141183460469231731.687303715884105728",
        "999999999999999",
        "99999999999999.9",
        "0.0",
    ]);
    let digits = prop_oneof!["(0|[1-9][0-9]{0,3})", "[1-9][0-9]{0,45}"];
    let fraction = prop_oneof![
        Just(String::new()),
        r"\.[0-9]{1,3}",
        r"\.[0-9]{1,45}",
        r"\.0{1,9}"
    ];
    let exponent = prop_oneof![
        4 => Just(String::new()),
        4 => (-45_i32..45).prop_map(|exponent| format!("e{exponent}")),
        1 => (-400_i32..400).prop_map(|exponent| format!("E{exponent:+}")),
        1 => prop::sample::select(vec!["e1000000000", "e-1000000000", "e99999999999999999999"]).prop_map(str::to_owned),
    ];
    let free = (digits, fraction).prop_map(|(digits, fraction)| digits + &fraction);
    let magnitude = prop_oneof![3 => free, 1 => bounds.prop_map(str::to_owned)];
    let sign = prop::sample::select(vec!["", "-"]);
    (sign, magnitude, exponent)
        .prop_map(|(sign, magnitude, exponent)| format!("{sign}{magnitude}{exponent}"))
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{0,3}",
        "[0-9]{3,5}",
        "[0-9]{4}-[01][0-9]",
        "[0-9]{4}-[01][0-9]-[0-3][0-9]",
        "[0-2][0-9]:[0-6][0-9](:[0-6][0-9](\\.[0-9]{1,10})?)?",
        "20[0-9]{2}-0[1-9]-[0-2][0-9]T[0-2][0-9]:[0-5][0-9](:[0-5][0-9](\\.[0-9]{1,10})?)?(Z|[+-][0-2][0-9](:[0-6][0-9])?)?",
    ]
}

/// JSON of any form, with few names and unusual leaves.
pub(super) fn any_sample() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        2 => prop::sample::select(vec!["null", "true", "false", "1", "3000000000", "1.5", "1e40", "\"x\"", "\"2024\""]).prop_map(str::to_owned),
        1 => any_number(),
        1 => any_text().prop_map(|text| format!("\"{text}\"")),
    ];
    let empty = prop::sample::select(vec!["[]", "[[]]", "[[],[[]]]"]).prop_map(str::to_owned);
    let leaf = prop_oneof![8 => leaf, 1 => empty];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4)
                .prop_map(|list| format!("[{}]", list.join(","))),
            prop::collection::btree_map("[a-c]", inner, 0..4).prop_map(|map| {
                let members: Vec<_> = map
                    .iter()
                    .map(|(name, value)| format!("\"{name}\":{value}"))
                    .collect();
                format!("{{{}}}", members.join(","))
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn random_samples_merge_as_the_sets_of_what_was_seen(samples in prop::collection::vec(any_sample(), 1..6)) {
        let mut schema = Schema::default();
        let mut expected = Observations::new();
        for sample in &samples {
            let document = Document::parse(sample).expect("JSON");
            schema = schema.merge(Schema::infer(&document));
            expected = merge(&expected, &places_in(&document));
        }
        for place in expected.values_mut() {
            place.leaves = collapsed(&place.leaves);
        }
        let mut found = Observations::new();
        places_of(&schema.root, &[], &mut found);
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn numbers_have_the_class_that_writing_them_out_shows(literal in any_number()) {
        let document = Document::parse(&literal).expect("a number");
        let types: Vec<_> = Schema::infer(&document).root.types.iter().collect();
        prop_assert_eq!(types, vec![number(&literal)]);
    }

    #[test]
    fn texts_have_the_class_of_the_first_pattern_that_fits(text in any_text()) {
        let document = Document::parse(&format!("\"{text}\"")).expect("a text");
        let types: Vec<_> = Schema::infer(&document).root.types.iter().collect();
        prop_assert_eq!(types, vec![text_type(&text)]);
    }
}
