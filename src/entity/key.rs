//! Values as bytes that sort like the values: the keys of search indexes (`storage.md` §6).
//!
//! Values that the evaluator treats as equal have equal keys. Values that it distinguishes may have
//! equal keys, too: long numbers and texts are cut. So a range of keys finds at least what a
//! comparison matches, and the evaluator decides.

use super::{Number, Path, Shape, Temporal, TemporalClass, Value};

/// How many digits of a number a key contains.
const DIGITS_MAX: usize = 40;

/// How many bytes of a text a key contains.
const TEXT_MAX: usize = 128;

/// How many keys a document may have at one path: each is a row in its commit.
const KEYS_MAX: usize = 1_000;

/// The kind of a value; kinds sort in the order of their tags.
mod tag {
    pub(super) const NULL: u8 = 0x00;
    pub(super) const FALSE: u8 = 0x10;
    pub(super) const TRUE: u8 = 0x11;
    pub(super) const NUMBER: u8 = 0x20;
    pub(super) const TEXT: u8 = 0x30;
    pub(super) const TIME: u8 = 0x40;
    pub(super) const CONTAINER: u8 = 0x50;
    pub(super) const MANY: u8 = 0x58;
    pub(super) const END: u8 = 0x60;
}

/// The bytes of one value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(Box<[u8]>);

/// A range of keys, from the first one (included).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRange {
    pub from: Key,
    /// The first key beyond the range.
    pub until: Key,
}

impl Key {
    /// The key of null, or of a missing field.
    pub fn null() -> Self {
        Self::tagged(tag::NULL)
    }

    pub fn truth(value: bool) -> Self {
        Self::tagged(if value { tag::TRUE } else { tag::FALSE })
    }

    /// The key of an object.
    pub fn container() -> Self {
        Self::tagged(tag::CONTAINER)
    }

    /// The key of a document with more values at a path than it may have keys, or with lists within
    /// a list: every look-up finds it.
    pub fn many() -> Self {
        Self::tagged(tag::MANY)
    }

    pub fn number(number: &Number) -> Self {
        let mut bytes = vec![tag::NUMBER];
        number.write_sortable(DIGITS_MAX, &mut bytes);
        Self(bytes.into())
    }

    pub fn text(text: &str) -> Self {
        let bytes = text.as_bytes();
        // Complete text ends before longer text.
        Self(match bytes.get(..TEXT_MAX) {
            Some(kept) => [&[tag::TEXT], kept].concat().into(),
            None => [&[tag::TEXT], bytes, &[0x00]].concat().into(),
        })
    }

    /// The key of a time, at the granularity of a class; `millis` counts from the origin of that
    /// class.
    pub fn time(class: TemporalClass, millis: i64) -> Self {
        let sortable = millis.cast_unsigned() ^ (1 << 63);
        Self(
            [&[tag::TIME, class as u8][..], &sortable.to_be_bytes()]
                .concat()
                .into(),
        )
    }

    fn tagged(tag: u8) -> Self {
        Self([tag].into())
    }

    pub fn from_bytes(bytes: Vec<u8>) -> Self {
        Self(bytes.into())
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Whether it is the key of null or of a missing field.
    pub fn is_null(&self) -> bool {
        *self.0 == [tag::NULL]
    }

    /// The first bytes after this key, and after all keys that begin with it.
    fn successor(&self) -> Self {
        // Neither text nor a number continues with this byte.
        Self([&self.0, &[0xFF][..]].concat().into())
    }

    /// The keys of a document at a path: one for each value that a test of the path reads, and a
    /// second one for text that is a time; a single key if there are very many values, or lists
    /// within a list, whose elements a test of the path may read.
    pub fn of(path: &Path, root: Value<'_>) -> Vec<Self> {
        let mut keys = Vec::new();
        let has_inner_list = path.any(root, &mut |value| {
            match value.map(Value::shape) {
                None => keys.push(Self::null()),
                Some(Shape::Array(elements)) => {
                    for element in elements {
                        let shape = element.shape();
                        if matches!(shape, Shape::Array(_)) {
                            return true;
                        }
                        Self::add(&shape, &mut keys);
                    }
                }
                Some(shape) => Self::add(&shape, &mut keys),
            }
            false
        });
        if has_inner_list {
            return vec![Self::many()];
        }
        keys.sort_unstable();
        keys.dedup();
        if keys.len() > KEYS_MAX {
            return vec![Self::many()];
        }
        keys
    }

    fn add(shape: &Shape<'_>, keys: &mut Vec<Self>) {
        let key = match shape {
            Shape::Null => Self::null(),
            Shape::Bool(truth) => Self::truth(*truth),
            // A literal that cannot be read as a number equals none.
            Shape::Number(literal) => {
                Number::parse(literal).map_or_else(Self::container, |number| Self::number(&number))
            }
            Shape::String(text) => {
                if let Some((class, millis)) = Temporal::parse(text)
                    .and_then(|time| Some((time.class, time.floor_ms(time.class)?)))
                {
                    keys.push(Self::time(class, millis));
                }
                Self::text(text)
            }
            Shape::Array(_) | Shape::Object(_) => Self::container(),
        };
        keys.push(key);
    }
}

impl KeyRange {
    /// One key, and those that were cut to it.
    pub fn only(key: &Key) -> Self {
        Self::between(key, key)
    }

    /// From one key to another of the same kind, both included.
    pub fn between(low: &Key, high: &Key) -> Self {
        Self {
            from: low.clone(),
            until: high.successor(),
        }
    }

    /// From a key to the end of its kind.
    pub fn above(low: &Key) -> Self {
        Self {
            from: low.clone(),
            until: low.end_of_kind(),
        }
    }

    /// From the beginning of its kind to a key.
    pub fn below(high: &Key) -> Self {
        Self {
            from: high.start_of_kind(),
            until: high.successor(),
        }
    }

    /// Whether a key lies in it.
    pub fn holds(&self, key: &Key) -> bool {
        self.from <= *key && *key < self.until
    }

    /// Text with a common beginning.
    pub fn prefix(text: &str) -> Self {
        let kept = &text.as_bytes()[..text.len().min(TEXT_MAX)];
        Self::only(&Key([&[tag::TEXT], kept].concat().into()))
    }

    /// Everything but null.
    pub fn present() -> Self {
        Self {
            from: Key::tagged(tag::NULL + 1),
            until: Key::tagged(tag::END),
        }
    }

    /// Everything that has an order, without the second keys of times: one key for each scalar
    /// value, and those of the elements of lists.
    pub fn sortable() -> Self {
        Self {
            from: Key::tagged(tag::NULL + 1),
            until: Key::tagged(tag::TIME),
        }
    }

    /// Whether it contains only null and keys with an order.
    pub fn is_sortable(&self) -> bool {
        self.until <= Key::tagged(tag::TIME)
    }

    pub fn is_of_nulls(&self) -> bool {
        self.from.is_null()
    }

    /// Whether it contains one key, and those that were cut to it.
    pub fn is_of_one(&self) -> bool {
        self.until == self.from.successor()
    }
}

impl Key {
    /// Whether both are of the same kind: numbers, text, times of one class.
    pub fn is_of_kind(&self, other: &Self) -> bool {
        self.kind() == other.kind()
    }

    /// The bytes with which all keys of the same kind begin.
    fn kind(&self) -> &[u8] {
        let len = if self.0.first() == Some(&tag::TIME) {
            2
        } else {
            1
        };
        &self.0[..len.min(self.0.len())]
    }

    fn start_of_kind(&self) -> Self {
        Self(self.kind().into())
    }

    fn end_of_kind(&self) -> Self {
        let mut end = self.kind().to_vec();
        if let Some(last) = end.last_mut() {
            *last += 1;
        }
        Self(end.into())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::entity::Document;

    fn number(literal: &str) -> Number {
        Number::parse(literal).expect(literal)
    }

    fn keys(path: &str, json: &str) -> Vec<Key> {
        Key::of(
            &Path::parse(path).expect(path),
            Document::parse(json).expect(json).root(),
        )
    }

    #[test]
    fn a_document_is_found_under_what_its_path_leads_to() {
        for (path, json, found) in [
            ("$.a", r#"{"a":1}"#, vec![Key::number(&number("1"))]),
            ("$.a", r#"{"a":1.0e0}"#, vec![Key::number(&number("1"))]),
            ("$.a", r#"{"a":null}"#, vec![Key::null()]),
            ("$.a", "{}", vec![Key::null()]),
            ("$.a.b", r#"{"a":{}}"#, vec![Key::null()]),
            ("$.a", r#"{"a":{}}"#, vec![Key::container()]),
            ("$.a", r#"{"a":[]}"#, vec![]),
            ("$.a[*]", "{}", vec![]),
            (
                "$.a[*]",
                r#"{"a":["x",true,"x"]}"#,
                vec![Key::truth(true), Key::text("x")],
            ),
            (
                "$.a",
                &format!("{{\"a\":{:?}}}", (0..2_000).collect::<Vec<_>>()),
                vec![Key::many()],
            ),
            ("$.a", r#"{"a":[1,[2]]}"#, vec![Key::many()]),
            (
                "$.a",
                r#"{"a":"2024"}"#,
                vec![
                    Key::text("2024"),
                    Key::time(TemporalClass::Year, 1_704_067_200_000),
                ],
            ),
        ] {
            assert_eq!(keys(path, json), found, "{path} in {json}");
        }
    }

    #[test]
    fn numbers_sort_as_numbers() {
        let ascending = [
            "-1e400", "-1234", "-123", "-12.5", "-12", "-1", "-0.5", "-0.05", "0", "0.05", "0.5",
            "1", "1.5", "12", "12.5", "123", "1234", "1e400",
        ];
        for pair in ascending.windows(2) {
            assert!(
                Key::number(&number(pair[0])) < Key::number(&number(pair[1])),
                "{pair:?}"
            );
        }
    }

    fn any_number() -> impl Strategy<Value = String> {
        "-?(0|[1-9][0-9]{0,44})(\\.[0-9]{1,45})?(e-?[0-9]{1,3})?"
    }

    proptest! {
        #[test]
        fn keys_of_numbers_never_contradict_their_order(a in any_number(), b in any_number()) {
            let (a, b) = (number(&a), number(&b));
            let keys = Key::number(&a).cmp(&Key::number(&b));
            prop_assert!(keys == a.cmp(&b) || keys.is_eq(), "{a:?} {b:?}");
            let within = |range: KeyRange, key: Key| range.from <= key && key < range.until;
            let range = KeyRange::only(&Key::number(&a));
            prop_assert_eq!(within(range, Key::number(&b)), keys.is_eq());
        }

        #[test]
        fn keys_of_texts_never_contradict_their_order(a in ".{0,80}", b in ".{0,80}") {
            let keys = Key::text(&a).cmp(&Key::text(&b));
            prop_assert!(keys == a.cmp(&b) || keys.is_eq());
            let within = |range: KeyRange, key: Key| range.from <= key && key < range.until;
            prop_assert!(within(KeyRange::prefix(&a), Key::text(&[a.as_str(), b.as_str()].concat())));
            if a <= b {
                prop_assert!(within(KeyRange::above(&Key::text(&a)), Key::text(&b)));
                prop_assert!(within(KeyRange::below(&Key::text(&b)), Key::text(&a)));
                prop_assert!(within(KeyRange::between(&Key::text(&a), &Key::text(&b)), Key::text(&b)));
            }
            prop_assert!(within(KeyRange::present(), Key::text(&a)));
            prop_assert!(!within(KeyRange::present(), Key::null()));
        }
    }
}
