//! Grouped statistics (`search.md` §8): aggregated during the scan, so that only the groups are in
//! memory.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use super::{
    View,
    filter::{Filter, Looks},
    missed::MissedIndexes,
    plan::choose,
    slice::Slice,
    walk::Walk,
};
use crate::condition::{Condition, Facts};
use crate::entity::{Path, Shape, Step, Value};
use crate::error::{Code, Coded, Failure};
use crate::storage::Definitions;

/// How many paths or aggregations one query may have; each takes memory in every group.
const COLUMNS_MAX: usize = 64;

/// The most memory that the keys of all groups may take, in bytes.
const KEY_BYTES_MAX: usize = 64 << 20;

/// The groups and aggregations of a query.
#[derive(Debug)]
pub struct Grouping {
    pub by: Vec<GroupBy>,
    pub aggregations: Vec<Aggregation>,
    /// How many groups to return, the largest first.
    pub limit: usize,
    /// How many groups there may be.
    pub max: usize,
}

/// What the entities of one group have in common.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum GroupBy {
    State,
    Field(Path),
}

/// A number made of the numbers of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Aggregate {
    Sum,
    Average,
    Least,
    Greatest,
    /// Of a sample: n - 1.
    Deviation,
}

/// An aggregate of a field, and its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Aggregation {
    pub aggregate: Aggregate,
    pub field: Path,
    pub name: Box<str>,
}

/// The result for one group.
#[derive(Debug, PartialEq)]
pub struct Group {
    /// The text of each value, in the order of [`Grouping::by`]; none for values without such a
    /// text.
    pub key: Key,
    pub count: u64,
    /// In the order of [`Grouping::aggregations`]; none if there is no such number.
    pub numbers: Vec<Option<f64>>,
}

type Key = Box<[Option<Box<str>>]>;

/// Why a query for groups is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GroupError {
    #[error("groupBy is empty; name `state`, or fields like `$.region`")]
    NoGroupBy,
    #[error("groupBy: `{0}` is neither `state` nor a path like `$.region` without indexes")]
    GroupByPath(String),
    #[error("groupBy: {0} is given twice")]
    GroupByTwice(String),
    #[error(
        "aggregations: `{given}` is unknown; use one of {}",
        Aggregate::names()
    )]
    Aggregate { given: String },
    #[error("aggregations: the field `{0}` is not a path like `$.amount` without indexes")]
    Field(String),
    #[error("aggregations: two of them are named `{0}`; rename one with `as`")]
    NameTwice(String),
    #[error("limit is {limit}; use 1 to {max}")]
    Limit { limit: i64, max: usize },
    #[error("{COLUMNS_MAX} members of groupBy and {COLUMNS_MAX} aggregations are allowed")]
    TooMany,
    #[error("there are more than {max} groups; narrow the condition, or group by fewer fields")]
    Cardinality { max: usize },
    #[error("the keys of the groups take more than 64 MiB; group by shorter values")]
    KeysTooLarge,
}

impl Coded for GroupError {
    fn code(&self) -> Code {
        match self {
            Self::NoGroupBy => Code::MissingGroupBy,
            Self::GroupByPath(_) => Code::InvalidGroupByPath,
            Self::GroupByTwice(_) => Code::DuplicateGroupBy,
            Self::Aggregate { .. } => Code::InvalidAggregationOp,
            Self::Field(_) => Code::InvalidAggregationField,
            Self::NameTwice(_) => Code::DuplicateAggregationAlias,
            Self::Limit { .. } => Code::InvalidLimit,
            Self::TooMany => Code::MalformedRequest,
            Self::Cardinality { .. } | Self::KeysTooLarge => Code::GroupCardinalityExceeded,
        }
    }
}

impl Aggregate {
    const ALL: &[Self] = &[
        Self::Sum,
        Self::Average,
        Self::Least,
        Self::Greatest,
        Self::Deviation,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Average => "avg",
            Self::Least => "min",
            Self::Greatest => "max",
            Self::Deviation => "stdev",
        }
    }

    fn names() -> String {
        let names: Vec<_> = Self::ALL.iter().map(|known| known.as_str()).collect();
        names.join(", ")
    }
}

impl Aggregation {
    /// Without a name it is named after its aggregate and field.
    pub fn parse(aggregate: &str, field: &str, name: Option<&str>) -> Result<Self, GroupError> {
        let aggregate = Aggregate::ALL
            .iter()
            .copied()
            .find(|known| known.as_str() == aggregate)
            .ok_or_else(|| GroupError::Aggregate {
                given: aggregate.to_owned(),
            })?;
        let field = member_path(field).ok_or_else(|| GroupError::Field(field.to_owned()))?;
        let usual = || {
            let path = field.to_string();
            let path = path.strip_prefix("$.").unwrap_or(&path);
            format!("{}_{path}", aggregate.as_str()).into()
        };
        let name = name
            .filter(|name| !name.is_empty())
            .map_or_else(usual, Into::into);
        Ok(Self {
            aggregate,
            field,
            name,
        })
    }
}

impl GroupBy {
    pub fn parse(text: &str) -> Result<Self, GroupError> {
        if text == "state" {
            return Ok(Self::State);
        }
        member_path(text)
            .map(Self::Field)
            .ok_or_else(|| GroupError::GroupByPath(text.to_owned()))
    }
}

impl std::fmt::Display for GroupBy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::State => f.write_str("state"),
            Self::Field(path) => path.fmt(f),
        }
    }
}

/// A path that leads to one value.
fn member_path(text: &str) -> Option<Path> {
    let path = Path::parse(text).ok()?;
    let is_member = |step: &Step| matches!(step, Step::Member(_));
    path.steps().iter().all(is_member).then_some(path)
}

impl Grouping {
    /// Builds a query, in the order of checks of `search.md` §8. The same aggregation under the
    /// same name counts once.
    pub fn new(
        by: Vec<GroupBy>,
        aggregations: Vec<Aggregation>,
        limit: Option<i64>,
        max: usize,
    ) -> Result<Self, GroupError> {
        if by.is_empty() {
            return Err(GroupError::NoGroupBy);
        }
        let mut seen = HashSet::new();
        if let Some(doubled) = by.iter().find(|by| !seen.insert(*by)) {
            return Err(GroupError::GroupByTwice(doubled.to_string()));
        }
        let mut kept: Vec<Aggregation> = Vec::new();
        for aggregation in aggregations {
            match kept.iter().find(|kept| kept.name == aggregation.name) {
                Some(same) if *same == aggregation => {}
                Some(_) => return Err(GroupError::NameTwice(aggregation.name.into())),
                None => kept.push(aggregation),
            }
        }
        if by.len() > COLUMNS_MAX || kept.len() > COLUMNS_MAX {
            return Err(GroupError::TooMany);
        }
        let limit = match limit {
            None => max,
            Some(limit) => usize::try_from(limit)
                .ok()
                .filter(|limit| (1..=max).contains(limit))
                .ok_or(GroupError::Limit { limit, max })?,
        };
        Ok(Self {
            by,
            aggregations: kept,
            limit,
            max,
        })
    }

    /// What it and the condition read.
    fn looks<'a>(&'a self, condition: &'a Condition) -> Looks<'a> {
        let mut looks = Looks::of(condition);
        let fields = self.by.iter().filter_map(|by| match by {
            GroupBy::State => None,
            GroupBy::Field(path) => Some(path),
        });
        looks.paths.extend(fields);
        looks.paths.extend(
            self.aggregations
                .iter()
                .map(|aggregation| &aggregation.field),
        );
        looks.lifecycle |= self.by.contains(&GroupBy::State);
        looks
    }

    fn key(&self, facts: Facts<'_>) -> Key {
        let text = |by: &GroupBy| match by {
            GroupBy::State => Some(facts.lifecycle.state.into()),
            GroupBy::Field(path) => path.first(facts.document).and_then(|value| text_of(value)),
        };
        self.by.iter().map(text).collect()
    }
}

/// The text that a value is grouped by.
fn text_of(value: Value<'_>) -> Option<Box<str>> {
    match value.shape() {
        Shape::String(_) => value.as_str().map(Into::into),
        Shape::Number(literal) => Some(literal.into()),
        Shape::Bool(truth) => Some(if truth { "true" } else { "false" }.into()),
        Shape::Null | Shape::Array(_) | Shape::Object(_) => None,
    }
}

/// Aggregates what satisfies a condition. Conditions on unknown fields do not hold.
pub async fn group(
    view: View,
    definitions: &Arc<Definitions>,
    condition: &Arc<Condition>,
    grouping: &Grouping,
) -> Result<Vec<Group>, Failure> {
    let narrowing = condition.narrowing(&definitions.model.schema);
    let (place, _) = choose(&view, definitions, &narrowing).await?;
    let mut missed = MissedIndexes::new(view.snapshot().clone(), &**definitions, narrowing);
    let looks = grouping.looks(condition);
    let mut filter = Filter::new(&view, definitions, condition, &looks);
    let mut walk = Walk::pages(view, place, definitions, looks.lifecycle);
    let mut groups = Groups::default();
    while let Some(part) = walk.next().await? {
        let mut slice = Slice::new();
        for candidate in part.candidates() {
            slice.give_way().await;
            missed.visited += 1;
            if let Some(facts) = filter.admit(&candidate).await? {
                missed.matched += 1;
                groups.add(grouping, grouping.key(facts), facts.document)?;
            }
        }
    }
    Ok(groups.ranked(grouping))
}

/// The groups so far.
#[derive(Default)]
struct Groups {
    known: HashMap<Key, Sums>,
    key_bytes: usize,
}

/// The sums of one group.
struct Sums {
    count: u64,
    /// In the order of [`Grouping::aggregations`].
    numbers: Box<[Sum]>,
}

impl Groups {
    fn add(&mut self, grouping: &Grouping, key: Key, root: Value<'_>) -> Result<(), GroupError> {
        if !self.known.contains_key(&key) {
            if self.known.len() == grouping.max {
                return Err(GroupError::Cardinality { max: grouping.max });
            }
            self.key_bytes += key.iter().flatten().map(|text| text.len()).sum::<usize>();
            if self.key_bytes > KEY_BYTES_MAX {
                return Err(GroupError::KeysTooLarge);
            }
        }
        let sums = self.known.entry(key).or_insert_with(|| Sums {
            count: 0,
            numbers: grouping
                .aggregations
                .iter()
                .map(|_| Sum::default())
                .collect(),
        });
        sums.count += 1;
        for (sum, aggregation) in sums.numbers.iter_mut().zip(&grouping.aggregations) {
            let value = aggregation.field.first(root);
            if let Some(Shape::Number(literal)) = value.map(Value::shape)
                && let Ok(number) = literal.parse()
            {
                sum.add(number);
            }
        }
        Ok(())
    }

    /// The largest first; those of equal size by key, null before text.
    fn ranked(self, grouping: &Grouping) -> Vec<Group> {
        let group = |(key, sums): (Key, Sums)| Group {
            key,
            count: sums.count,
            numbers: sums
                .numbers
                .iter()
                .zip(&grouping.aggregations)
                .map(|(sum, aggregation)| sum.value(aggregation.aggregate))
                .collect(),
        };
        let mut groups: Vec<Group> = self.known.into_iter().map(group).collect();
        groups.sort_unstable_by(|one, other| {
            (other.count.cmp(&one.count)).then_with(|| one.key.cmp(&other.key))
        });
        groups.truncate(grouping.limit);
        groups
    }
}

/// Sums of numbers added one by one; deviations by Welford's method, which avoids cancellation.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    count: f64,
    total: f64,
    least: f64,
    greatest: f64,
    mean: f64,
    squares: f64,
}

impl Sum {
    fn add(&mut self, number: f64) {
        let is_first = self.count == 0.0;
        self.count += 1.0;
        self.total += number;
        self.least = if is_first {
            number
        } else {
            self.least.min(number)
        };
        self.greatest = if is_first {
            number
        } else {
            self.greatest.max(number)
        };
        let off = number - self.mean;
        self.mean += off / self.count;
        self.squares += off * (number - self.mean);
    }

    /// None if there is no such number, or none that JSON can represent.
    fn value(&self, aggregate: Aggregate) -> Option<f64> {
        let number = match aggregate {
            _ if self.count == 0.0 => return None,
            Aggregate::Sum => self.total,
            Aggregate::Average => self.total / self.count,
            Aggregate::Least => self.least,
            Aggregate::Greatest => self.greatest,
            Aggregate::Deviation if self.count < 2.0 => return None,
            Aggregate::Deviation => (self.squares / (self.count - 1.0)).sqrt(),
        };
        number.is_finite().then_some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_returned_exactly() {
        let values = |numbers: &[f64]| {
            let mut sum = Sum::default();
            for number in numbers {
                sum.add(*number);
            }
            Aggregate::ALL
                .iter()
                .map(|aggregate| sum.value(*aggregate))
                .collect::<Vec<_>>()
        };
        assert_eq!(values(&[]), [None; 5]);
        assert_eq!(
            values(&[-3.0]),
            [Some(-3.0), Some(-3.0), Some(-3.0), Some(-3.0), None]
        );
        assert_eq!(
            values(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0])[..4],
            [Some(40.0), Some(5.0), Some(2.0), Some(9.0)]
        );
        let deviation = values(&[1e9 + 4.0, 1e9 + 7.0, 1e9 + 13.0, 1e9 + 16.0])[4];
        assert!((deviation.expect("a number") - 30_f64.sqrt()).abs() < 1e-9);
        assert_eq!(values(&[1e308, 1e308])[0], None, "no number of JSON");
    }

    #[test]
    fn a_query_is_refused_for_the_first_thing_that_is_wrong_with_it() {
        for (text, given) in [
            ("state", Some("state")),
            ("$.a.b", Some("$.a.b")),
            ("$['a']['b']", Some("$.a.b")),
            ("a.b", Some("$.a.b")),
            ("$['a.b']", Some("$['a.b']")),
            ("$.a[0]", None),
            ("$.a[*].b", None),
            ("$", None),
            ("", None),
        ] {
            let by = GroupBy::parse(text).ok().map(|by| by.to_string());
            assert_eq!(by.as_deref(), given, "{text}");
        }
        let by = |texts: &[&str]| {
            let all = texts.iter().map(|text| GroupBy::parse(text));
            all.collect::<Result<Vec<_>, _>>().expect("paths")
        };
        let sum = |field: &str, name: Option<&str>| {
            Aggregation::parse("sum", field, name).expect("an aggregation")
        };
        let new = |texts: &[&str], aggregations: Vec<Aggregation>, limit| {
            Grouping::new(by(texts), aggregations, limit, 10).map(|grouping| {
                let names = grouping.aggregations.into_iter().map(|one| one.name.into());
                (names.collect::<Vec<String>>(), grouping.limit)
            })
        };
        assert_eq!(new(&[], Vec::new(), None), Err(GroupError::NoGroupBy));
        assert_eq!(
            new(&["$.a", "$['a']"], Vec::new(), None),
            Err(GroupError::GroupByTwice("$.a".to_owned()))
        );
        assert_eq!(
            new(&["state"], vec![sum("$.n", None), sum("n", None)], None),
            Ok((vec!["sum_n".to_owned()], 10))
        );
        assert_eq!(
            new(
                &["state"],
                vec![sum("$.n", Some("x")), sum("$.m", Some("x"))],
                None
            ),
            Err(GroupError::NameTwice("x".to_owned()))
        );
        for (limit, fits) in [(0, false), (-1, false), (11, false), (10, true), (1, true)] {
            assert_eq!(new(&["state"], Vec::new(), Some(limit)).is_ok(), fits);
        }
        assert!(matches!(
            Aggregation::parse("median", "$.n", None),
            Err(GroupError::Aggregate { .. })
        ));
        assert!(matches!(
            Aggregation::parse("sum", "$.n[0]", None),
            Err(GroupError::Field(_))
        ));
    }
}
