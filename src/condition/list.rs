//! The operands of `IN` and `NOT_IN`, indexed once by every way in which a value can equal one of
//! them, so that a long list is looked up instead of scanned.

use std::{collections::HashMap, ops::Deref};

use super::{Comparison, Operand};
use crate::entity::{Number, Shape, Temporal, TemporalClass};
use crate::model::Types;

/// Lists up to this length are scanned.
const SHORT: usize = 16;

/// A list of operands.
#[derive(Debug, Clone)]
pub(super) struct List {
    operands: Box<[Operand]>,
    /// None for a short list.
    index: Option<Box<Index>>,
}

/// The positions of operands in the list: of those that equal the same values, the first.
#[derive(Debug, Clone, Default)]
struct Index {
    numbers: HashMap<Number, u32>,
    texts: HashMap<Box<str>, u32>,
    /// By local date and time, and whether it is a time of day.
    walls: HashMap<(bool, i64), u32>,
    instants: HashMap<i64, u32>,
}

impl Deref for List {
    type Target = [Operand];

    fn deref(&self) -> &[Operand] {
        &self.operands
    }
}

impl List {
    pub(super) fn new(operands: Vec<Operand>) -> Self {
        let index = (operands.len() > SHORT).then(|| Box::new(Index::of(&operands)));
        Self {
            operands: operands.into(),
            index,
        }
    }

    /// Whether a value equals one of them.
    pub(super) fn contains(&self, stored: &Shape<'_>, declared: Types) -> bool {
        let equals = |operand: &Operand| Comparison::Equal.holds(stored, operand, declared);
        let Some(index) = &self.index else {
            return self.iter().any(equals);
        };
        let any = |found: Option<&u32>| self.at(found).is_some_and(equals);
        match stored {
            Shape::Number(literal) => {
                Number::parse(literal).is_some_and(|number| any(index.numbers.get(&number)))
            }
            Shape::Bool(truth) => any(index.texts.get(if *truth { "true" } else { "false" })),
            Shape::String(text) => {
                any(index.texts.get(&**text))
                    || uuid::Uuid::try_parse(text)
                        .is_ok_and(|uuid| any(index.texts.get(&*uuid.to_string())))
                    || Temporal::parse(text).is_some_and(|time| any(index.times(time)))
            }
            Shape::Null | Shape::Array(_) | Shape::Object(_) => false,
        }
    }

    /// Whether an instant equals one of them.
    pub(super) fn contains_time(&self, stored: Temporal) -> bool {
        let equals = |operand: &Operand| {
            let time = operand.time();
            time.is_some_and(|time| Comparison::Equal.times(stored, time))
        };
        match &self.index {
            None => self.iter().any(equals),
            Some(index) => self.at(index.times(stored)).is_some_and(equals),
        }
    }

    fn at(&self, found: Option<&u32>) -> Option<&Operand> {
        self.operands.get(*found? as usize)
    }
}

impl Index {
    fn of(operands: &[Operand]) -> Self {
        let mut index = Self::default();
        for (operand, at) in operands.iter().zip(0..) {
            let Some(text) = operand.text() else { continue };
            index.texts.entry(text.into()).or_insert(at);
            if let Some(number) = &operand.number {
                index.numbers.entry(number.clone()).or_insert(at);
            }
            if let Some(time) = operand.time() {
                index.walls.entry(wall(time)).or_insert(at);
                if let Some(instant) = time.floor_ms(TemporalClass::ZonedDateTime) {
                    index.instants.entry(instant).or_insert(at);
                }
            }
        }
        index
    }

    /// The position of an operand that a time can equal: an instant equals the same instant only,
    /// any other time the same local time.
    fn times(&self, stored: Temporal) -> Option<&u32> {
        match stored.class {
            TemporalClass::ZonedDateTime => self.instants.get(&stored.instant_ms()),
            TemporalClass::LocalDateTime
            | TemporalClass::LocalDate
            | TemporalClass::LocalTime
            | TemporalClass::YearMonth
            | TemporalClass::Year => self.walls.get(&wall(stored)),
        }
    }
}

fn wall(time: Temporal) -> (bool, i64) {
    (time.class == TemporalClass::LocalTime, time.wall_ms)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::entity::Document;
    use crate::model::DataType;

    fn scalars() -> impl Strategy<Value = String> {
        prop_oneof![
            (-20_i32..20).prop_map(|n| n.to_string()),
            (-20_i32..20).prop_map(|n| format!("{n}.0")),
            (-20_i32..20).prop_map(|n| format!("{n}E0")),
            (-20_i32..20).prop_map(|n| format!("{n}.5")),
            (-20_i32..20).prop_map(|n| format!("\"{n}\"")),
            Just("5000000000".to_owned()),
            any::<bool>().prop_map(|truth| truth.to_string()),
            any::<bool>().prop_map(|truth| format!("\"{truth}\"")),
            Just("null".to_owned()),
            "[a-c]{0,2}".prop_map(|text| format!("\"{text}\"")),
            (1_u8..4).prop_map(|day| format!("\"2024-01-0{day}\"")),
            (0_u8..3).prop_map(|hour| format!("\"2024-01-01T0{hour}:00:00Z\"")),
            (0_u8..3).prop_map(|hour| format!("\"2024-01-01T0{hour}:00:00+01:00\"")),
            (0_u8..3).prop_map(|hour| format!("\"2024-01-01T0{hour}:00\"")),
            (0_u8..3).prop_map(|hour| format!("\"0{hour}:00\"")),
            Just("\"2024\"".to_owned()),
            Just("\"2024-01\"".to_owned()),
            Just("\"1970\"".to_owned()),
            Just("\"00000000-0000-0000-0000-00000000000a\"".to_owned()),
            Just("\"00000000-0000-0000-0000-00000000000A\"".to_owned()),
            Just("\"0000000000000000000000000000000a\"".to_owned()),
        ]
    }

    fn types() -> impl Strategy<Value = Types> {
        let names = [
            "INTEGER",
            "LONG",
            "DOUBLE",
            "STRING",
            "BOOLEAN",
            "UUID_TYPE",
            "ZONED_DATE_TIME",
            "LOCAL_DATE_TIME",
            "LOCAL_DATE",
            "LOCAL_TIME",
            "YEAR",
            "YEAR_MONTH",
        ];
        prop::collection::vec(prop::sample::select(names.to_vec()), 0..4).prop_map(|names| {
            names
                .into_iter()
                .filter_map(DataType::from_name)
                .fold(Types::EMPTY, |set, data_type| {
                    set.merge(Types::of(data_type))
                })
        })
    }

    fn operand(json: &str) -> Operand {
        let document = Document::parse(json).expect("JSON");
        Operand::read(document.root()).expect("a scalar")
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]
        #[test]
        fn a_list_contains_what_equals_one_of_its_operands(
            given in prop::collection::vec(scalars(), 0..12),
            stored in scalars(),
            declared in types(),
        ) {
            let operands: Vec<_> = given.iter().map(|json| operand(json)).collect();
            let index = Some(Box::new(Index::of(&operands)));
            let list = List { operands: operands.into(), index };
            let document = Document::parse(&stored).expect("JSON");
            let shape = document.root().shape();
            let one_by_one = list.iter().any(|operand| {
                Comparison::Equal.holds(&shape, operand, declared)
            });
            prop_assert_eq!(list.contains(&shape, declared), one_by_one, "{} in {:?}", stored, given);
            if let Some(time) = operand(&stored).time() {
                let one_by_one = list.iter().any(|operand| {
                    operand.time().is_some_and(|other| Comparison::Equal.times(time, other))
                });
                prop_assert_eq!(list.contains_time(time), one_by_one, "{} in {:?}", stored, given);
            }
        }
    }
}
