//! The order of search results (`search.md` §7).

use std::{cmp::Ordering, collections::HashSet};

use crate::condition::{Facts, LifecycleField, Undeclared};
use crate::entity::{Number, Path, Shape, Step};
use crate::error::{Code, Coded};
use crate::model::{DataType, Schema, Types};

/// How many sort keys there may be, unless the settings say otherwise.
pub const SORT_KEYS_MAX: usize = 16;

/// Sort keys by precedence; the entity id decides between equals.
#[derive(Debug, Clone, Default)]
pub struct Order {
    keys: Vec<SortKey>,
}

/// A sort key.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SortKey {
    pub subject: SortSubject,
    pub descending: bool,
}

/// The subject of a sort key.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum SortSubject {
    Field(Path),
    /// A metadata field, by name.
    Meta(&'static str),
}

/// Why an order is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("sort: {0}")]
pub struct OrderError(String);

impl Coded for OrderError {
    fn code(&self) -> Code {
        Code::InvalidFieldPath
    }
}

impl SortKey {
    /// A sort key on a field of the document.
    pub fn field(path: &str, descending: bool) -> Result<Self, OrderError> {
        let path = Path::parse(path).map_err(|error| OrderError(error.to_string()))?;
        Ok(Self {
            subject: SortSubject::Field(path),
            descending,
        })
    }

    /// A sort key on metadata, which may be marked as such.
    pub fn meta(name: &str, descending: bool) -> Result<Self, OrderError> {
        let name = name.strip_prefix('@').unwrap_or(name);
        let field = LifecycleField::from_name(name)
            .ok_or_else(|| OrderError(format!("`@{name}` is not a metadata field")))?;
        Ok(Self {
            subject: SortSubject::Meta(field.as_str()),
            descending,
        })
    }

    /// Parses the form of a query parameter: `[@]path[:asc|:desc]`.
    pub fn parse(text: &str) -> Result<Self, OrderError> {
        // A key in brackets may have a colon.
        let suffix = text.rsplit_once(':');
        let suffix = suffix.filter(|(_, suffix)| !suffix.contains(']'));
        let (path, descending) = match suffix {
            Some((path, "asc")) => (path, false),
            Some((path, "desc")) => (path, true),
            Some((_, other)) => {
                return Err(OrderError(format!("`{other}` is neither asc nor desc")));
            }
            None => (text, false),
        };
        Self::named(path, descending)
    }

    /// A sort key on a field, or with `@` on metadata.
    pub fn named(path: &str, descending: bool) -> Result<Self, OrderError> {
        if path.starts_with('@') {
            Self::meta(path, descending)
        } else {
            Self::field(path, descending)
        }
    }
}

impl Order {
    pub fn new(keys: Vec<SortKey>) -> Result<Self, OrderError> {
        let mut seen = HashSet::new();
        match keys.iter().find(|key| !seen.insert(&key.subject)) {
            Some(doubled) => Err(OrderError(format!("{} is given twice", doubled.subject))),
            None => Ok(Self { keys }),
        }
    }

    /// Rejects more than `max` keys.
    pub fn check_count(&self, max: usize) -> Result<(), OrderError> {
        let count = self.keys.len();
        if count > max {
            return Err(OrderError(format!(
                "{count} keys are given; {max} are allowed"
            )));
        }
        Ok(())
    }

    pub const fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    pub(super) fn first(&self) -> Option<&SortKey> {
        self.keys.first()
    }

    /// The fields that it reads.
    pub(super) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.keys.iter().filter_map(|key| match &key.subject {
            SortSubject::Field(path) => Some(path),
            SortSubject::Meta(_) => None,
        })
    }

    /// Whether it reads metadata.
    pub(super) fn looks_at_lifecycle(&self) -> bool {
        let is_meta = |key: &SortKey| matches!(key.subject, SortSubject::Meta(_));
        self.keys.iter().any(is_meta)
    }

    /// Rejects keys that name one element of a list, as cyoda 0.8 does (`search.md` §7).
    pub fn check_elements(&self) -> Result<(), OrderError> {
        let element = |path: &&Path| {
            path.steps()
                .iter()
                .any(|step| matches!(step, Step::Element(_)))
        };
        match self.paths().find(element) {
            Some(path) => Err(OrderError(format!(
                "{path} is an element of a list, which this profile (INTERLOCK_COMPAT) does not sort by; name a field outside of lists"
            ))),
            None => Ok(()),
        }
    }

    /// Rejects keys that are not a single scalar with a common order. An unknown field that counts
    /// as missing is missing in every entity.
    pub(super) fn check_against(
        &self,
        schema: &Schema,
        unknown: Undeclared,
    ) -> Result<(), OrderError> {
        let is_many = |path: &&Path| path.steps().contains(&Step::Each);
        if let Some(path) = self.paths().find(is_many) {
            return Err(OrderError(format!(
                "{path} has several values in one entity; name one element, as in `[0]`, or a field outside of lists"
            )));
        }
        for key in &self.keys {
            let SortSubject::Field(path) = &key.subject else {
                continue;
            };
            let node = match schema.root.at(path) {
                Some(node) => node,
                None if unknown == Undeclared::Fields => {
                    if let Some(name) = odd_name(path) {
                        return Err(OrderError(format!(
                            "`{name}` is not a field of the model; name one field in each key, as `path`, `path:asc` or `path:desc`"
                        )));
                    }
                    continue;
                }
                None => return Err(OrderError(format!("{path} is not a field of the model"))),
            };
            if node.is_structure() {
                return Err(OrderError(format!("{path} is not a scalar")));
            }
            if classes(node.types) > 1 || node.types.contains(DataType::ByteArray) {
                return Err(OrderError(format!(
                    "the values of {path} have no common order: {}",
                    node.types
                )));
            }
        }
        Ok(())
    }

    /// The values by which an entity is sorted.
    pub(super) fn keys_of(&self, facts: Facts<'_>) -> Keys {
        self.keys.iter().map(|key| key.of(facts)).collect()
    }

    /// Adds bytes that sort like [`Self::compare`].
    pub(super) fn write_sortable(&self, keys: &Keys, bytes: &mut Vec<u8>) {
        for (sort, key) in self.keys.iter().zip(keys) {
            key.write_sortable(sort.descending, bytes);
        }
    }

    /// The keys, in the form that [`SortKey::parse`] reads.
    pub(super) fn texts(&self) -> Vec<String> {
        let text = |key: &SortKey| {
            let direction = if key.descending { "desc" } else { "asc" };
            format!("{}:{direction}", key.subject)
        };
        self.keys.iter().map(text).collect()
    }

    pub(super) fn compare<T>(&self, one: &Ranked<T>, other: &Ranked<T>) -> Ordering {
        let keys = self.keys.iter().zip(one.keys.iter().zip(&other.keys));
        keys.map(|(key, (one, other))| one.compare(other, key.descending))
            .find(|order| order.is_ne())
            .unwrap_or(Ordering::Equal)
    }
}

/// A name in a path that looks like several keys, or like more than a name: the entities would not
/// be sorted at all by a field of that name, because none has it.
fn odd_name(path: &Path) -> Option<&str> {
    path.steps().iter().find_map(|step| match step {
        Step::Member(name) => {
            (name.contains([',', ':']) || name.trim() != &**name).then_some(&**name)
        }
        Step::Element(_) | Step::Each => None,
    })
}

/// How many classes of values, each with its own order, a set of types has.
fn classes(types: Types) -> usize {
    let is_text = |data_type: DataType| {
        !data_type.is_numeric() && !matches!(data_type, DataType::Boolean | DataType::Null)
    };
    [
        types.any(DataType::is_numeric),
        types.contains(DataType::Boolean),
        types.any(is_text),
    ]
    .into_iter()
    .filter(|has| *has)
    .count()
}

impl std::fmt::Display for SortSubject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Field(path) => path.fmt(f),
            Self::Meta(name) => write!(f, "@{name}"),
        }
    }
}

/// An item with the values by which it is sorted.
#[derive(Debug)]
pub(super) struct Ranked<T> {
    keys: Keys,
    item: T,
}

/// The values by which something is sorted.
pub(super) type Keys = Box<[Key]>;

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Key {
    Bool(bool),
    Number(Number),
    Text(Box<str>),
    /// Missing or null: last in both directions.
    Missing,
}

impl<T> Ranked<T> {
    pub(super) const fn new(keys: Keys, item: T) -> Self {
        Self { keys, item }
    }

    pub(super) const fn item(&self) -> &T {
        &self.item
    }

    pub(super) fn into_item(self) -> T {
        self.item
    }

    pub(super) fn key_bytes(&self) -> usize {
        let bytes = |key: &Key| match key {
            Key::Text(text) => text.len(),
            Key::Bool(_) | Key::Number(_) | Key::Missing => 0,
        };
        self.keys
            .iter()
            .map(|key| size_of::<Key>() + bytes(key))
            .sum()
    }
}

impl SortKey {
    fn of(&self, facts: Facts<'_>) -> Key {
        match &self.subject {
            SortSubject::Field(path) => {
                match path.first(facts.document).map(crate::entity::Value::shape) {
                    Some(Shape::Bool(truth)) => Key::Bool(truth),
                    Some(Shape::Number(literal)) => {
                        Number::parse(literal).map_or(Key::Missing, Key::Number)
                    }
                    Some(Shape::String(text)) => Key::Text(text.into()),
                    Some(Shape::Null | Shape::Array(_) | Shape::Object(_)) | None => Key::Missing,
                }
            }
            SortSubject::Meta(name) => {
                let lifecycle = facts.lifecycle;
                let instant = |time: crate::clock::Timestamp| {
                    Number::parse(&time.millis().to_string()).map_or(Key::Missing, Key::Number)
                };
                match LifecycleField::from_name(name) {
                    Some(LifecycleField::CreationDate) => instant(lifecycle.created),
                    Some(LifecycleField::LastUpdateTime) => instant(lifecycle.updated),
                    Some(field) => Key::Text(field.text(lifecycle).into()),
                    None => Key::Missing,
                }
            }
        }
    }
}

impl Key {
    fn compare(&self, other: &Self, descending: bool) -> Ordering {
        let order = match (self, other) {
            (Self::Missing, Self::Missing) => return Ordering::Equal,
            (Self::Missing, _) => return Ordering::Greater,
            (_, Self::Missing) => return Ordering::Less,
            (Self::Bool(one), Self::Bool(other)) => one.cmp(other),
            (Self::Number(one), Self::Number(other)) => one.cmp(other),
            (Self::Text(one), Self::Text(other)) => one.cmp(other),
            (one, other) => one.class().cmp(&other.class()),
        };
        if descending { order.reverse() } else { order }
    }

    /// Adds bytes that are not a prefix of those of another value, so that more may follow.
    fn write_sortable(&self, descending: bool, bytes: &mut Vec<u8>) {
        const PRESENT: u8 = 0;
        const MISSING: u8 = 1;
        if *self == Self::Missing {
            return bytes.push(MISSING);
        }
        bytes.push(PRESENT);
        let start = bytes.len();
        bytes.push(self.class());
        match self {
            Self::Bool(truth) => bytes.push((*truth).into()),
            Self::Number(number) => number.write_sortable(usize::MAX, bytes),
            Self::Text(text) => {
                // A zero is followed by a byte above the end, which is two zeros.
                for byte in text.bytes() {
                    bytes.push(byte);
                    if byte == 0 {
                        bytes.push(u8::MAX);
                    }
                }
                bytes.extend([0, 0]);
            }
            Self::Missing => {}
        }
        if descending {
            bytes[start..].iter_mut().for_each(|byte| *byte = !*byte);
        }
    }

    const fn class(&self) -> u8 {
        match self {
            Self::Bool(_) => 0,
            Self::Number(_) => 1,
            Self::Text(_) => 2,
            Self::Missing => 3,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_key() -> impl Strategy<Value = Key> {
        prop_oneof![
            Just(Key::Missing),
            any::<bool>().prop_map(Key::Bool),
            "-?(0|[1-9][0-9]{0,50})(\\.[0-9]{1,3})?(e-?[0-9]{1,3})?"
                .prop_map(|literal| Number::parse(&literal).map_or(Key::Missing, Key::Number)),
            "[\\x00ab\u{10ffff}]{0,4}".prop_map(|text| Key::Text(text.into())),
        ]
    }

    proptest! {
        #[test]
        fn bytes_sort_as_the_keys_do(
            pairs in prop::collection::vec((any_key(), any_key(), any::<bool>()), 1..4)
        ) {
            let keys = pairs.iter().enumerate().map(|(n, (.., descending))| {
                SortKey::field(&format!("k{n}"), *descending)
            });
            let order = Order::new(keys.collect::<Result<_, _>>().expect("keys")).expect("an order");
            let (one, other): (Vec<_>, Vec<_>) = pairs.into_iter().map(|(one, other, _)| (one, other)).unzip();
            let (one, other) = (Ranked::new(one.into(), ()), Ranked::new(other.into(), ()));
            let bytes = |ranked: &Ranked<()>| {
                let mut bytes = Vec::new();
                order.write_sortable(&ranked.keys, &mut bytes);
                // What follows does not count before what is in the keys.
                bytes.push(7);
                bytes
            };
            prop_assert_eq!(bytes(&one).cmp(&bytes(&other)), order.compare(&one, &other));
        }
    }

    #[test]
    fn keys_are_read_and_bad_ones_refused() {
        for (text, subject, descending) in [
            ("a.b", "$.a.b", false),
            ("$.a:desc", "$.a", true),
            ("@state:asc", "@state", false),
            ("@transitionForLatestSave", "@previousTransition", false),
            ("IMDB Rating:desc", "$.IMDB Rating", true),
            ("$['dc:title']", "$.dc:title", false),
            ("$['dc:title']:desc", "$.dc:title", true),
        ] {
            let key = SortKey::parse(text).expect(text);
            assert_eq!(
                (key.subject.to_string().as_str(), key.descending),
                (subject, descending)
            );
        }
        for text in ["", "a:up", "@colour", "$..a"] {
            assert!(SortKey::parse(text).is_err(), "{text}");
        }
        for key in [
            SortKey::named("@state", true),
            SortKey::meta("@state", true),
            SortKey::meta("state", true),
        ] {
            assert_eq!(key.expect("a key").subject.to_string(), "@state");
        }
        let key = |text: &str| SortKey::parse(text).expect("a key");
        assert!(Order::new(vec![key("a"), key("$.a:desc")]).is_err());
        let many = Order::new((0..17).map(|n| key(&format!("k{n}"))).collect());
        let many = many.expect("an order");
        assert!(many.check_count(16).is_err());
        assert!(many.check_count(17).is_ok());
    }

    #[test]
    fn missing_values_are_last_in_both_directions() {
        let number = |literal: &str| Key::Number(Number::parse(literal).expect(literal));
        let text = |text: &str| Key::Text(text.into());
        for (one, other, ascending, descending) in [
            (number("2"), number("10"), Ordering::Less, Ordering::Greater),
            (text("b"), text("a"), Ordering::Greater, Ordering::Less),
            (
                Key::Bool(false),
                Key::Bool(true),
                Ordering::Less,
                Ordering::Greater,
            ),
            (
                Key::Missing,
                number("1"),
                Ordering::Greater,
                Ordering::Greater,
            ),
            (text("z"), Key::Missing, Ordering::Less, Ordering::Less),
        ] {
            assert_eq!(one.compare(&other, false), ascending);
            assert_eq!(one.compare(&other, true), descending);
        }
    }
}
