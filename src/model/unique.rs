//! Composite unique keys: fields whose combined values at most one live entity may have
//! (`models-and-entities.md` §9).

use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use super::{Model, Node, Schema};
use crate::entity::{Document, Number, Path, Shape, Step, Value};
use crate::error::{Code, Coded, Properties};
use crate::id::ModelKey;

/// How many keys a model, and how many fields a key, may have.
const KEYS_MAX: usize = 64;

/// The maximum number of digits of a number in a key.
const DIGITS_MAX: usize = 64;

/// The maximum absolute exponent of a number in a key.
const EXPONENT_MAX: i64 = 6_144;

/// Values up to this number of bytes are stored as they are, longer ones as a hash.
const PLAIN_MAX: usize = 64;

/// The first byte of a hashed value, with which no other begins.
const HASHED: u8 = 0xff;

/// The first byte of a field, by its type; its length and its bytes follow.
const BOOL: u8 = 1;
const NUMBER: u8 = 2;
const TEXT: u8 = 3;

/// A key as a client defines it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyDefinition {
    pub id: String,
    pub fields: Vec<String>,
}

/// The unique keys of a model; cheap to clone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UniqueKeys(Arc<[UniqueKey]>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct UniqueKey {
    id: Arc<str>,
    fields: Vec<Field>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Field {
    /// As it was given.
    text: Arc<str>,
    path: Path,
}

/// The value of one key in a document. Equal values have equal bytes: numbers are compared by
/// value, and values of different types are never equal.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct KeyValue {
    /// The position of the key among those of the model.
    pub key: u16,
    pub bytes: Box<[u8]>,
}

/// Why keys are invalid for a model.
#[derive(Debug, Clone, thiserror::Error)]
#[error("model {model}: {why}")]
pub struct InvalidKeys {
    model: ModelKey,
    why: String,
}

impl Coded for InvalidKeys {
    fn code(&self) -> Code {
        Code::InvalidUniqueKeyDefinition
    }

    fn properties(&self) -> Properties {
        vec![
            ("entityName", (*self.model.name).into()),
            ("entityVersion", self.model.version.into()),
        ]
    }
}

/// Why a document has no valid value for a key.
#[derive(Debug, Clone, thiserror::Error)]
#[error("unique key `{key}`: {why}")]
pub struct InvalidValue {
    key: Arc<str>,
    why: String,
}

impl Coded for InvalidValue {
    fn code(&self) -> Code {
        Code::InvalidUniqueKey
    }
}

impl Model {
    /// Validates the keys of a model.
    pub fn read_keys(&self, given: &[KeyDefinition]) -> Result<UniqueKeys, InvalidKeys> {
        let keys = read(given).map_err(|why| self.invalid(why))?;
        keys.fit(&[&self.schema]).map_err(|why| self.invalid(why))?;
        Ok(keys)
    }

    /// Rejects a schema in which a field of a key would no longer be a scalar.
    pub fn check_keys(&self, schema: &Schema) -> Result<(), InvalidKeys> {
        let outcome = self.unique_keys.fit(&[schema]);
        outcome.map_err(|why| self.invalid(why))
    }

    /// The same for the schema of the model extended by a delta, which is not merged for it.
    pub(super) fn check_keys_with(&self, delta: &Schema) -> Result<(), InvalidKeys> {
        let outcome = self.unique_keys.fit(&[&self.schema, delta]);
        outcome.map_err(|why| self.invalid(why))
    }

    fn invalid(&self, why: String) -> InvalidKeys {
        InvalidKeys {
            model: self.key.clone(),
            why,
        }
    }
}

fn read(given: &[KeyDefinition]) -> Result<UniqueKeys, String> {
    let is_many = |count: usize| count > KEYS_MAX;
    if is_many(given.len()) {
        return Err(format!("there are more than {KEYS_MAX} unique keys"));
    }
    let mut keys: Vec<UniqueKey> = Vec::with_capacity(given.len());
    for (index, KeyDefinition { id, fields }) in given.iter().enumerate() {
        if id.is_empty() {
            return Err(format!("unique key {index} has an empty id"));
        }
        if keys.iter().any(|key| *key.id == **id) {
            return Err(format!("unique key `{id}` is given twice"));
        }
        if fields.is_empty() {
            return Err(format!("unique key `{id}` has no fields"));
        }
        if is_many(fields.len()) {
            return Err(format!("unique key `{id}` has more than {KEYS_MAX} fields"));
        }
        let mut read: Vec<Field> = Vec::with_capacity(fields.len());
        for text in fields {
            let path = field(text).map_err(|why| format!("unique key `{id}`: {why}"))?;
            if read.iter().any(|field| field.path == path) {
                return Err(format!("unique key `{id}` has the field `{text}` twice"));
            }
            read.push(Field {
                text: text.as_str().into(),
                path,
            });
        }
        keys.push(UniqueKey {
            id: id.as_str().into(),
            fields: read,
        });
    }
    Ok(UniqueKeys(keys.into()))
}

fn field(text: &str) -> Result<Path, String> {
    if !text.starts_with('$') {
        return Err(format!("field `{text}` is not a path such as `$.a.b`"));
    }
    let path = Path::parse(text).map_err(|error| error.to_string())?;
    if members(&path).count() < path.steps().len() {
        return Err(format!("field `{text}` is within an array"));
    }
    Ok(path)
}

/// The names of the steps to a field.
fn members(path: &Path) -> impl Iterator<Item = &str> {
    path.steps().iter().filter_map(|step| match step {
        Step::Member(name) => Some(&**name),
        Step::Element(_) | Step::Each => None,
    })
}

impl UniqueKeys {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The keys as they were given: their ids and fields.
    pub fn iter(&self) -> impl Iterator<Item = (&str, impl Iterator<Item = &str>)> {
        self.0
            .iter()
            .map(|key| (&*key.id, key.fields.iter().map(|field| &*field.text)))
    }

    /// The id of the key at a position.
    pub fn id(&self, key: u16) -> &str {
        self.0.get(usize::from(key)).map_or("", |key| &key.id)
    }

    /// Whether every field is a scalar of the schema, outside of lists.
    fn fit(&self, parts: &[&Schema]) -> Result<(), String> {
        for UniqueKey { id, fields } in &*self.0 {
            for Field { text, path } in fields {
                let node = |schema: &&Schema| -> Option<bool> {
                    let node = members(path).try_fold(&schema.root, |node, name| {
                        node.members.as_ref().and_then(|members| members.get(name))
                    });
                    node.map(Node::is_structure)
                };
                let found: Vec<bool> = parts.iter().filter_map(node).collect();
                if found.is_empty() {
                    return Err(format!(
                        "unique key `{id}`: field `{text}` is not in the model, or within an array"
                    ));
                }
                if found.contains(&true) {
                    return Err(format!(
                        "unique key `{id}`: field `{text}` is not a scalar in the model"
                    ));
                }
            }
        }
        Ok(())
    }

    /// The value of each key in a document. A key whose fields are all missing does not apply.
    pub fn values(&self, document: &Document) -> Result<Vec<KeyValue>, InvalidValue> {
        let mut values = Vec::new();
        for (key, place) in self.0.iter().zip(0..) {
            let bytes = key.value(document).map_err(|why| InvalidValue {
                key: Arc::clone(&key.id),
                why,
            })?;
            values.extend(bytes.map(|bytes| KeyValue { key: place, bytes }));
        }
        Ok(values)
    }

    /// A value in words: `$.org.code = "a", $.n = 1`. For a hashed one only the fields are known.
    pub fn describe(&self, value: &KeyValue) -> String {
        let fields = self.0.get(usize::from(value.key)).map(|key| &*key.fields);
        let mut bytes = &*value.bytes;
        let said = |field: &Field| {
            let said = first_said(&mut bytes).unwrap_or_else(|| "…".to_owned());
            format!("{} = {said}", field.text)
        };
        let said: Vec<String> = fields.unwrap_or_default().iter().map(said).collect();
        said.join(", ")
    }

    /// The stored form.
    pub fn encode(&self) -> String {
        let rows: Vec<(&str, Vec<&str>)> = self
            .iter()
            .map(|(id, fields)| (id, fields.collect()))
            .collect();
        serde_json::to_string(&rows).unwrap_or_default()
    }

    /// Parses the stored form; none if it is invalid.
    pub fn decode(text: &str) -> Option<Self> {
        let rows: Vec<(String, Vec<String>)> = serde_json::from_str(text).ok()?;
        let given: Vec<_> = rows
            .into_iter()
            .map(|(id, fields)| KeyDefinition { id, fields })
            .collect();
        read(&given).ok()
    }
}

impl UniqueKey {
    fn value(&self, document: &Document) -> Result<Option<Box<[u8]>>, String> {
        let mut bytes = Vec::new();
        let mut missing = None;
        let mut given = None;
        for Field { text, path } in &self.fields {
            let mut names = members(path);
            let value = names.try_fold(document.root(), Value::member);
            let (tag, said) = match value.map(Value::shape) {
                None | Some(Shape::Null) => {
                    missing = Some(text);
                    continue;
                }
                Some(Shape::Bool(truth)) => (BOOL, vec![u8::from(truth)]),
                Some(Shape::Number(literal)) => {
                    let number =
                        number(literal).map_err(|why| format!("field `{text}` is {why}"))?;
                    (NUMBER, number.to_string().into_bytes())
                }
                Some(Shape::String(said)) => (TEXT, said.into_owned().into_bytes()),
                Some(Shape::Array(_) | Shape::Object(_)) => {
                    return Err(format!("field `{text}` is not a scalar"));
                }
            };
            given = Some(text);
            bytes.push(tag);
            bytes.extend_from_slice(&u32::try_from(said.len()).unwrap_or(u32::MAX).to_be_bytes());
            bytes.extend_from_slice(&said);
        }
        match (given, missing) {
            (None, _) => Ok(None),
            (Some(given), Some(missing)) => Err(format!(
                "field `{missing}` is null or missing, and `{given}` is not; give all of its fields or none"
            )),
            (Some(_), None) => Ok(Some(short(bytes))),
        }
    }
}

/// Removes the first field from the bytes of a value; none if they are a hash.
fn first_said(bytes: &mut &[u8]) -> Option<String> {
    let (tag, rest) = bytes.split_first()?;
    let (length, rest) = rest.split_first_chunk()?;
    let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
    let (said, rest) = rest.split_at_checked(length)?;
    let text = std::str::from_utf8(said).ok()?;
    let words = match *tag {
        BOOL => (said == [1]).to_string(),
        NUMBER => plainly(text),
        TEXT => serde_json::Value::from(text).to_string(),
        _ => return None,
    };
    *bytes = rest;
    Some(words)
}

/// A number in plain notation, if that is short and exact.
fn plainly(text: &str) -> String {
    let is_zero = !text.bytes().any(|byte| (b'1'..=b'9').contains(&byte));
    match text.parse::<f64>() {
        _ if is_zero => "0".to_owned(),
        Ok(number) if text.len() < 18 && (1e-6..1e15).contains(&number.abs()) => number.to_string(),
        Ok(_) | Err(_) => text.to_owned(),
    }
}

/// A number that is exact in every database.
fn number(literal: &str) -> Result<Number, String> {
    let (mantissa, exponent) = literal.split_once(['e', 'E']).unwrap_or((literal, "0"));
    let digits = mantissa.bytes().filter(u8::is_ascii_digit);
    if digits.skip_while(|digit| *digit == b'0').count() > DIGITS_MAX {
        return Err(format!("a number of more than {DIGITS_MAX} digits"));
    }
    let fraction = mantissa
        .split_once('.')
        .map_or(0, |(_, digits)| digits.len());
    // A number that is too large to compute with.
    let exponent: Option<i64> = exponent.parse().ok();
    let shifted = exponent.zip(i64::try_from(fraction).ok());
    let is_small = shifted.and_then(|(exponent, fraction)| exponent.checked_sub(fraction));
    if is_small.is_none_or(|exponent| exponent.unsigned_abs() > EXPONENT_MAX.unsigned_abs()) {
        return Err(format!("a number with an exponent beyond {EXPONENT_MAX}"));
    }
    Number::parse(literal).ok_or_else(|| "not a number".to_owned())
}

fn short(bytes: Vec<u8>) -> Box<[u8]> {
    if bytes.len() <= PLAIN_MAX {
        return bytes.into();
    }
    let hash = Sha256::digest(&bytes);
    std::iter::once(HASHED).chain(hash).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::clock::Timestamp;
    use crate::model::Lock;

    fn model(sample: &str) -> Model {
        Model {
            key: ModelKey::new("m", 1),
            lock: Lock::Unlocked,
            change_level: None,
            schema: Schema::infer(&Document::parse(sample).expect(sample)).into(),
            updated: Timestamp::from_micros(0),
            unique_keys: UniqueKeys::default(),
        }
    }

    fn key(id: &str, fields: &[&str]) -> KeyDefinition {
        KeyDefinition {
            id: id.to_owned(),
            fields: fields.iter().map(|field| (*field).to_owned()).collect(),
        }
    }

    const SAMPLE: &str =
        r#"{"a":1,"b":"x","o":{"c":true},"l":[{"d":1}],"t":["x"],"name with spaces":1,"p.q":1}"#;

    #[test]
    fn a_value_is_shown_in_words_unless_it_is_long() {
        let fields = ["$.a", "$.b", "$.c"].map(str::to_owned).to_vec();
        let key = KeyDefinition {
            id: "k".to_owned(),
            fields,
        };
        let keys = read(&[key]).expect("a key");
        let expected = |document: &str| {
            let document = Document::parse(document).expect("a document");
            keys.describe(&keys.values(&document).expect("values")[0])
        };
        assert_eq!(
            expected(r#"{"a":"x\"y","b":2.50,"c":false}"#),
            r#"$.a = "x\"y", $.b = 2.5, $.c = false"#
        );
        assert_eq!(
            expected(r#"{"a":-0.0,"b":12000,"c":1e300}"#),
            "$.a = 0, $.b = 12000, $.c = 0.1e301"
        );
        let long = format!(r#"{{"a":"{}","b":1,"c":true}}"#, "x".repeat(100));
        assert_eq!(expected(&long), "$.a = …, $.b = …, $.c = …");
    }

    #[test]
    fn definitions_are_checked() {
        let model = model(SAMPLE);
        for good in [
            vec![],
            vec![key("k", &["$.a"])],
            vec![key("k", &["$.a", "$.o.c"]), key("j", &["$.a"])],
            vec![key("k", &["$.name with spaces", "$['p.q']"])],
        ] {
            let keys = model.read_keys(&good).expect("fits");
            assert_eq!(UniqueKeys::decode(&keys.encode()), Some(keys.clone()));
            assert_eq!(keys.iter().count(), good.len());
        }
        let many: Vec<_> = (0..65).map(|n| key(&n.to_string(), &["$.a"])).collect();
        for (bad, why) in [
            (vec![key("", &["$.a"])], "empty id"),
            (vec![key("k", &["$.a"]), key("k", &["$.b"])], "given twice"),
            (vec![key("k", &[])], "no fields"),
            (vec![key("k", &["$.a", "$['a']"])], "twice"),
            (vec![key("k", &["a"])], "not a path"),
            (vec![key("k", &[""])], "not a path"),
            (vec![key("k", &["$"])], "names no field"),
            (vec![key("k", &["$.z"])], "not in the model"),
            (vec![key("k", &["$.a.z"])], "not in the model"),
            (vec![key("k", &["$.o"])], "not a scalar"),
            (vec![key("k", &["$.t"])], "not a scalar"),
            (vec![key("k", &["$.t[*]"])], "within an array"),
            (vec![key("k", &["$.t[0]"])], "within an array"),
            (vec![key("k", &["$.l[*].d"])], "within an array"),
            (vec![key("k", &["$.l.d"])], "within an array"),
            (vec![key("k", &["$.t.0"])], "within an array"),
            (many, "more than 64"),
        ] {
            let error = model.read_keys(&bad).expect_err(why);
            assert!(error.to_string().contains(why), "{error}");
            assert_eq!(error.code(), Code::InvalidUniqueKeyDefinition);
        }
    }

    #[test]
    fn a_schema_in_which_a_key_would_be_no_scalar_is_refused() {
        let mut model = model(SAMPLE);
        model.unique_keys = model.read_keys(&[key("k", &["$.a"])]).expect("fits");
        for (sample, fits) in [
            (r#"{"a":"text","new":[]}"#, true),
            (r#"{"a":{"x":1}}"#, false),
            (r#"{"a":[1]}"#, false),
        ] {
            let more = Schema::infer(&Document::parse(sample).expect(sample));
            let with = model.check_keys_with(&more);
            assert_eq!(with.is_ok(), fits, "{sample}");
            let merged = Schema::clone(&model.schema).merge(more);
            assert_eq!(model.check_keys(&merged).is_ok(), fits, "{sample}");
        }
    }

    fn value(document: &str) -> Result<Vec<KeyValue>, InvalidValue> {
        let keys = read(&[key("k", &["$.a", "$.o.c"])]).expect("keys");
        keys.values(&Document::parse(document).expect(document))
    }

    fn same(one: &str, other: &str) -> bool {
        let one = value(&format!(r#"{{"a":{one},"o":{{"c":1}}}}"#)).expect(one);
        one == value(&format!(r#"{{"a":{other},"o":{{"c":1}}}}"#)).expect(other)
    }

    #[test]
    fn equality_is_by_type_and_numbers_by_value() {
        for (one, other) in [
            ("42", "42.0"),
            ("42", "4.2e1"),
            ("0", "-0.0e3"),
            (r#""é""#, r#""\u00e9""#),
            ("1e6144", "10e6143"),
        ] {
            assert!(same(one, other), "{one} {other}");
        }
        let long = format!("\"{}\"", "x".repeat(1_000));
        let longer = format!("\"{}\"", "x".repeat(1_001));
        for (one, other) in [
            ("42", r#""42""#),
            ("1", "true"),
            ("true", "false"),
            ("42", "-42"),
            ("9007199254740993", "9007199254740992"),
            (r#""a""#, r#""A""#),
            (r#""""#, "false"),
            (&long, &longer),
        ] {
            assert!(!same(one, other), "{one} {other}");
        }
        assert!(same(&long, &long));
    }

    #[test]
    fn a_key_is_given_whole_or_not_at_all() {
        for none in [
            "{}",
            r#"{"a":null}"#,
            r#"{"a":null,"o":{"c":null}}"#,
            "[]",
            "1",
        ] {
            assert_eq!(value(none).expect(none), [], "{none}");
        }
        let beyond = "1".repeat(65);
        for bad in [
            r#"{"a":1}"#.to_owned(),
            r#"{"o":{"c":1},"a":null}"#.to_owned(),
            r#"{"a":[1],"o":{"c":1}}"#.to_owned(),
            r#"{"a":{},"o":{"c":1}}"#.to_owned(),
            r#"{"a":[]}"#.to_owned(),
            format!(r#"{{"a":{beyond},"o":{{"c":1}}}}"#),
            format!(r#"{{"a":0.{beyond},"o":{{"c":1}}}}"#),
            r#"{"a":1e6145,"o":{"c":1}}"#.to_owned(),
            r#"{"a":0.1e-6144,"o":{"c":1}}"#.to_owned(),
            r#"{"a":1e-99999999999999999999,"o":{"c":1}}"#.to_owned(),
        ] {
            let error = value(&bad).expect_err(&bad);
            assert_eq!(error.code(), Code::InvalidUniqueKey);
        }
        let most = "1".repeat(64);
        assert!(value(&format!(r#"{{"a":0.00{most},"o":{{"c":1}}}}"#)).is_ok());
    }

    proptest! {
        #[test]
        fn tuples_are_equal_as_their_fields_are(
            one in (".{0,40}", ".{0,40}"),
            other in (".{0,40}", ".{0,40}"),
        ) {
            let text = |(a, c): &(String, String)| {
                let json = |text: &str| serde_json::Value::from(text).to_string();
                format!(r#"{{"a":{},"o":{{"c":{}}}}}"#, json(a), json(c))
            };
            let [first, second] = [&one, &other].map(|pair| value(&text(pair)).expect("whole"));
            prop_assert_eq!(first == second, one == other);
        }
    }
}
