//! JSON that is kept as it was given: canonical text, and an index into that text.
//!
//! `serde_json` checks the grammar; this file only walks text that is known to be JSON.
//! `serde_json::Value` is not used because it loses digits and the order of keys.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashSet},
    fmt,
    sync::Arc,
};

use serde_json::value::RawValue;

use super::{DEPTH_MAX, Number, scan};

/// Why a text is not a valid document.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DocumentError {
    #[error("not JSON: {0}")]
    Syntax(String),
    #[error("nested deeper than {DEPTH_MAX} levels")]
    TooDeep,
    #[error("the member `{0}` is given twice in one object")]
    DoubledMember(String),
    #[error("larger than 4 GiB")]
    TooLarge,
}

/// JSON text in canonical form: no white space between tokens, as few escapes as JSON allows,
/// digits and member order as given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Json(Arc<str>);

impl Json {
    /// Text that is already canonical, because this program wrote it.
    pub fn trusted(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn shared(&self) -> Arc<str> {
        Arc::clone(&self.0)
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A document: canonical text, and the positions of its values.
#[derive(Debug, Clone)]
pub struct Document {
    json: Json,
    nodes: Arc<[Node]>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Null,
    True,
    False,
    Number,
    /// The text between the quotes, without escapes.
    Plain,
    /// The text between the quotes, with escapes.
    Escaped,
    Array,
    Object,
}

/// A value, or the key of a member (followed by its value).
#[derive(Debug, Clone, Copy)]
pub(super) struct Node {
    pub(super) kind: Kind,
    /// The position in the text; for a string, without the quotes.
    pub(super) start: u32,
    pub(super) end: u32,
    /// The node after this one and everything within it.
    pub(super) next: u32,
}

impl Document {
    pub fn parse(text: &str) -> Result<Self, DocumentError> {
        let raw: &RawValue =
            serde_json::from_str(text).map_err(|error| DocumentError::Syntax(error.to_string()))?;
        Self::from_raw(raw)
    }

    /// Reads JSON whose grammar has been checked, as the argument's type proves.
    pub fn from_raw(raw: &RawValue) -> Result<Self, DocumentError> {
        let raw = raw.get();
        if u32::try_from(raw.len()).is_err() {
            return Err(DocumentError::TooLarge);
        }
        let mut reader = Reader {
            input: raw,
            at: 0,
            taken: 0,
            text: String::new(),
            nodes: Vec::with_capacity(raw.len() / 8 + 1),
            open: Vec::new(),
        };
        reader.read()?;
        let document = Self {
            json: Json(reader.finish()),
            nodes: reader.nodes.into(),
        };
        document.refuse_doubled()?;
        Ok(document)
    }

    /// Reads text that was canonical when it was stored.
    pub fn from_json(json: &Json) -> Result<Self, DocumentError> {
        Self::parse(json.as_str())
    }

    pub const fn json(&self) -> &Json {
        &self.json
    }

    fn refuse_doubled(&self) -> Result<(), DocumentError> {
        /// Up to this number of keys, each is searched for among the preceding ones.
        const FEW: usize = 32;
        let objects = self.nodes.iter().zip(1..);
        let objects = objects.filter(|(node, _)| node.kind == Kind::Object);
        for (object, first) in objects {
            let keys = Keys {
                text: self.json.as_str().as_bytes(),
                nodes: &self.nodes,
                node: first,
                end: object.next as usize,
            };
            let (mut marks, mut many) = (0, None);
            for (count, key) in keys.clone().enumerate() {
                let before = || keys.clone().take(count);
                let doubled = if count < FEW {
                    let mark = mark(key);
                    let may_be = marks & mark != 0;
                    marks |= mark;
                    may_be && before().any(|other| other == key)
                } else {
                    let many = many.get_or_insert_with(|| before().collect::<HashSet<_>>());
                    !many.insert(key)
                };
                if doubled {
                    return Err(DocumentError::DoubledMember(
                        String::from_utf8_lossy(key).into_owned(),
                    ));
                }
            }
        }
        Ok(())
    }

    pub fn root(&self) -> Value<'_> {
        Value::root_of(self.json.as_str(), &self.nodes)
    }
}

/// One of 64 bits: the same for equal keys, usually different for others.
fn mark(key: &[u8]) -> u64 {
    let byte = |byte: Option<&u8>| byte.copied().map_or(0, usize::from);
    let sum = byte(key.first()) * 7 + byte(key.last()) * 5 + byte(key.get(1)) + key.len();
    1 << (sum % 64)
}

struct Reader<'a> {
    input: &'a str,
    at: usize,
    /// How much of the input has been copied or skipped. Canonical input is copied in stretches as
    /// long as possible, often all of it at once.
    taken: usize,
    text: String,
    nodes: Vec<Node>,
    /// The lists and objects that are not closed yet.
    open: Vec<usize>,
}

impl Reader<'_> {
    fn read(&mut self) -> Result<(), DocumentError> {
        while let Some(byte) = self.input.as_bytes().get(self.at) {
            match byte {
                b' ' | b'\t' | b'\n' | b'\r' => self.space(),
                b'{' => self.open(Kind::Object)?,
                b'[' => self.open(Kind::Array)?,
                b'}' | b']' => self.close()?,
                b',' | b':' => self.at += 1,
                b'"' => self.string()?,
                _ => self.scalar(),
            }
        }
        Ok(())
    }

    /// The whole text.
    fn finish(&mut self) -> Arc<str> {
        if self.taken == 0 {
            return self.input.into();
        }
        self.take(self.at);
        self.text.as_str().into()
    }

    /// Copies the input up to there unchanged.
    fn take(&mut self, until: usize) {
        self.text.reserve(self.input.len() - self.taken);
        self.text.push_str(&self.input[self.taken..until]);
        self.taken = until;
    }

    /// The position in the text of what comes next in the input.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the input is shorter than 4 GiB, and so is what is made of it"
    )]
    const fn here(&self) -> u32 {
        (self.text.len() + self.at - self.taken) as u32
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "there are fewer nodes than bytes of input"
    )]
    fn push(&mut self, kind: Kind, start: u32, end: u32) {
        let next = self.nodes.len() as u32 + 1;
        self.nodes.push(Node {
            kind,
            start,
            end,
            next,
        });
    }

    fn space(&mut self) {
        self.take(self.at);
        self.at += 1;
        self.taken = self.at;
    }

    fn open(&mut self, kind: Kind) -> Result<(), DocumentError> {
        if self.open.len() == DEPTH_MAX {
            return Err(DocumentError::TooDeep);
        }
        self.open.push(self.nodes.len());
        self.push(kind, self.here(), 0);
        self.at += 1;
        Ok(())
    }

    fn close(&mut self) -> Result<(), DocumentError> {
        self.at += 1;
        let Some(node) = self.open.pop() else {
            return Ok(());
        };
        self.nodes[node].end = self.here();
        self.nodes[node].next =
            u32::try_from(self.nodes.len()).map_err(|_| DocumentError::TooLarge)?;
        Ok(())
    }

    fn string(&mut self) -> Result<(), DocumentError> {
        let from = self.at;
        let start = self.here() + 1;
        let past = scan::skip_string(self.input.as_bytes(), from);
        let (end, escaped) = past.unwrap_or((self.input.len(), false));
        self.at = end;
        let kind = if escaped {
            self.escaped_string(from)?
        } else {
            Kind::Plain
        };
        self.push(kind, start, self.here() - 1);
        Ok(())
    }

    /// Removes escapes that JSON does not need; half a surrogate pair is not valid text.
    fn escaped_string(&mut self, from: usize) -> Result<Kind, DocumentError> {
        let syntax = |error: serde_json::Error| DocumentError::Syntax(error.to_string());
        let meant: String = serde_json::from_str(&self.input[from..self.at]).map_err(syntax)?;
        let written = serde_json::to_string(&meant).map_err(syntax)?;
        self.take(from);
        self.text.push_str(&written);
        self.taken = self.at;
        Ok(if written.len() == meant.len() + 2 {
            Kind::Plain
        } else {
            Kind::Escaped
        })
    }

    fn scalar(&mut self) {
        let rest = &self.input[self.at..];
        let len = rest
            .bytes()
            .position(|byte| matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r'))
            .unwrap_or(rest.len());
        let kind = match rest.as_bytes()[0] {
            b'n' => Kind::Null,
            b't' => Kind::True,
            b'f' => Kind::False,
            _ => Kind::Number,
        };
        let start = self.here();
        self.at += len;
        self.push(kind, start, self.here());
    }
}

/// The keys of an object, as written. Equal keys are equal in canonical text.
#[derive(Clone)]
struct Keys<'a> {
    text: &'a [u8],
    nodes: &'a [Node],
    node: usize,
    end: usize,
}

impl<'a> Iterator for Keys<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        if self.node >= self.end {
            return None;
        }
        let key = self.nodes[self.node];
        self.node = self.nodes[self.node + 1].next as usize;
        Some(&self.text[key.start as usize..key.end as usize])
    }
}

/// One value of a document.
#[derive(Clone, Copy)]
pub struct Value<'a> {
    /// The whole document.
    text: &'a str,
    nodes: &'a [Node],
    node: usize,
}

impl fmt::Debug for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.json())
    }
}

/// The kind and content of a value.
#[derive(Debug, Clone)]
pub enum Shape<'a> {
    Null,
    Bool(bool),
    /// The literal, digit for digit.
    Number(&'a str),
    String(Cow<'a, str>),
    Array(Elements<'a>),
    Object(DocumentMembers<'a>),
}

impl<'a> Value<'a> {
    /// The first value of a text with these nodes.
    pub(super) const fn root_of(text: &'a str, nodes: &'a [Node]) -> Self {
        Self {
            text,
            nodes,
            node: 0,
        }
    }

    fn head(self) -> Node {
        self.nodes[self.node]
    }

    fn span(self, node: Node) -> &'a str {
        &self.text[node.start as usize..node.end as usize]
    }

    fn text(self, node: Node) -> Cow<'a, str> {
        let span = self.span(node);
        if node.kind == Kind::Plain {
            return Cow::Borrowed(span);
        }
        let quoted = &self.text[node.start as usize - 1..=node.end as usize];
        serde_json::from_str(quoted).map_or(Cow::Borrowed(span), Cow::Owned)
    }

    pub fn shape(self) -> Shape<'a> {
        let node = self.head();
        let within = |node: Node| Cursor {
            next: Self {
                node: self.node + 1,
                ..self
            },
            end: node.next as usize,
        };
        match node.kind {
            Kind::Null => Shape::Null,
            Kind::True => Shape::Bool(true),
            Kind::False => Shape::Bool(false),
            Kind::Number => Shape::Number(self.span(node)),
            Kind::Plain | Kind::Escaped => Shape::String(self.text(node)),
            Kind::Array => Shape::Array(Elements(within(node))),
            Kind::Object => Shape::Object(DocumentMembers(within(node))),
        }
    }

    /// The value as canonical JSON.
    pub fn json(self) -> &'a str {
        let node = self.head();
        match node.kind {
            Kind::Plain | Kind::Escaped => &self.text[node.start as usize - 1..=node.end as usize],
            Kind::Null | Kind::True | Kind::False | Kind::Number | Kind::Array | Kind::Object => {
                self.span(node)
            }
        }
    }

    pub fn is_null(self) -> bool {
        self.head().kind == Kind::Null
    }

    pub fn is_object(self) -> bool {
        self.head().kind == Kind::Object
    }

    /// The member of that name, if this is an object that has one.
    pub fn member(self, name: &str) -> Option<Self> {
        let Shape::Object(members) = self.shape() else {
            return None;
        };
        members
            .into_iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value)
    }

    /// The element at that index, if this is a list that has one.
    pub fn element(self, index: usize) -> Option<Self> {
        let Shape::Array(mut elements) = self.shape() else {
            return None;
        };
        elements.nth(index)
    }

    /// The elements, if this is a list.
    pub fn elements(self) -> Option<Elements<'a>> {
        let head = self.head();
        (head.kind == Kind::Array).then(|| {
            Elements(Cursor {
                next: Self {
                    node: self.node + 1,
                    ..self
                },
                end: head.next as usize,
            })
        })
    }

    /// The number of values and names in the indexed part of the document.
    pub const fn extent(self) -> usize {
        self.nodes.len()
    }

    /// The number of bytes of scalars and names in the indexed part of the document.
    pub fn bytes(self) -> usize {
        let is_scalar = |node: &&Node| !matches!(node.kind, Kind::Array | Kind::Object);
        let bytes = self.nodes.iter().filter(is_scalar);
        bytes.map(|node| (node.end - node.start) as usize).sum()
    }

    /// Whether both are equal: numbers by value, members in any order.
    pub fn same_as(self, other: Value<'_>) -> bool {
        match (self.shape(), other.shape()) {
            (Shape::Null, Shape::Null) => true,
            (Shape::Bool(one), Shape::Bool(two)) => one == two,
            (Shape::Number(one), Shape::Number(two)) => {
                one == two
                    || Number::parse(one)
                        .zip(Number::parse(two))
                        .is_some_and(|(one, two)| one == two)
            }
            (Shape::String(one), Shape::String(two)) => one == two,
            (Shape::Array(mut one), Shape::Array(mut two)) => loop {
                match (one.next(), two.next()) {
                    (None, None) => return true,
                    (Some(one), Some(two)) if one.same_as(two) => {}
                    _ => return false,
                }
            },
            (Shape::Object(one), Shape::Object(two)) => {
                let (one, two): (BTreeMap<_, _>, BTreeMap<_, _>) = (one.collect(), two.collect());
                one.len() == two.len()
                    && one.iter().all(|(name, value)| {
                        two.get(name).is_some_and(|other| value.same_as(*other))
                    })
            }
            (
                Shape::Null
                | Shape::Bool(_)
                | Shape::Number(_)
                | Shape::String(_)
                | Shape::Array(_)
                | Shape::Object(_),
                _,
            ) => false,
        }
    }

    /// The text of a string.
    pub fn as_str(self) -> Option<Cow<'a, str>> {
        match self.shape() {
            Shape::String(text) => Some(text),
            Shape::Null
            | Shape::Bool(_)
            | Shape::Number(_)
            | Shape::Array(_)
            | Shape::Object(_) => None,
        }
    }
}

#[derive(Debug, Clone)]
struct Cursor<'a> {
    next: Value<'a>,
    end: usize,
}

impl<'a> Cursor<'a> {
    fn step(&mut self) -> Option<Value<'a>> {
        if self.next.node >= self.end {
            return None;
        }
        let value = self.next;
        self.next.node = value.head().next as usize;
        Some(value)
    }
}

/// The elements of a list, in order.
#[derive(Debug, Clone)]
pub struct Elements<'a>(Cursor<'a>);

impl<'a> Iterator for Elements<'a> {
    type Item = Value<'a>;

    fn next(&mut self) -> Option<Value<'a>> {
        self.0.step()
    }
}

/// The members of an object, in the order given.
#[derive(Debug, Clone)]
pub struct DocumentMembers<'a>(Cursor<'a>);

impl<'a> Iterator for DocumentMembers<'a> {
    type Item = (Cow<'a, str>, Value<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let key = self.0.step()?;
        let value = self.0.step()?;
        Some((key.text(key.head()), value))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_canonical_form_changes_white_space_and_escapes_only() {
        for (given, canonical) in [
            (
                r#" { "b" : 1.50 , "a":[ 1e400, -0 ,true,null ] } "#,
                r#"{"b":1.50,"a":[1e400,-0,true,null]}"#,
            ),
            (r#""\u0041\/\n""#, r#""A/\n""#),
            (r#""\u0000""#, r#""\u0000""#),
            ("[]", "[]"),
            ("{}", "{}"),
            ("  12345678901234567890.10 ", "12345678901234567890.10"),
            (r#"{"a\u0062":{"c":"d e"}}"#, r#"{"ab":{"c":"d e"}}"#),
        ] {
            assert_eq!(
                Document::parse(given).expect(given).json().as_str(),
                canonical
            );
        }
    }

    #[test]
    fn what_is_not_one_document_is_refused() {
        for given in [
            "",
            "{",
            "01",
            "{\"a\":1,}",
            "[1 2]",
            "nul",
            "1 1",
            r#""\ud800""#,
            r#"{"\ud800":1}"#,
        ] {
            assert!(
                matches!(Document::parse(given), Err(DocumentError::Syntax(_))),
                "{given}"
            );
        }
        for given in [r#"{"a":1,"a":2}"#, r#"[{"b":{"a":1,"\u0061":2}}]"#] {
            assert_eq!(
                Document::parse(given).err(),
                Some(DocumentError::DoubledMember("a".into()))
            );
        }
        let wide: Vec<_> = (0..40).map(|n| format!("\"k{}\":1", n % 39)).collect();
        assert_eq!(
            Document::parse(&format!("{{{}}}", wide.join(","))).err(),
            Some(DocumentError::DoubledMember("k0".into()))
        );
        let deep = |levels| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(Document::parse(&deep(DEPTH_MAX)).is_ok());
        assert_eq!(
            Document::parse(&deep(DEPTH_MAX + 1)).err(),
            Some(DocumentError::TooDeep)
        );
        assert_eq!(
            Document::parse(&deep(10_000)).err(),
            Some(DocumentError::TooDeep)
        );
    }

    #[test]
    fn members_and_elements_are_found() {
        let document = Document::parse(r#"{"a":{"x":1},"é\n":[10,"q\"",{"z":null}],"c":false}"#)
            .expect("JSON");
        let root = document.root();
        assert_eq!(
            root.member("a")
                .and_then(|a| a.member("x"))
                .map(Value::json),
            Some("1")
        );
        let list = root.member("é\n").expect("list");
        assert_eq!(
            list.element(1).and_then(Value::as_str).as_deref(),
            Some("q\"")
        );
        assert_eq!(list.element(1).map(Value::json), Some(r#""q\"""#));
        assert!(
            list.element(2)
                .and_then(|o| o.member("z"))
                .is_some_and(Value::is_null)
        );
        assert!(list.element(3).is_none());
        assert!(matches!(
            root.member("c").map(Value::shape),
            Some(Shape::Bool(false))
        ));
        assert!(root.member("x").is_none());
    }

    proptest! {
        #[test]
        fn the_canonical_form_means_the_same_and_is_stable(value in any_json()) {
            let pretty = serde_json::to_string_pretty(&value).expect("printable");
            let document = Document::parse(&pretty).expect("JSON");
            let again: serde_json::Value = serde_json::from_str(document.json().as_str()).expect("JSON");
            prop_assert_eq!(&again, &value);
            let twice = Document::parse(document.json().as_str()).expect("JSON");
            prop_assert_eq!(twice.json(), document.json());
        }

        #[test]
        fn any_text_is_read_or_refused(text in ".{0,60}") {
            let _ = Document::parse(&text);
        }

        #[test]
        fn the_first_key_that_comes_again_is_reported(keys in prop::collection::vec("[a-d]{0,3}", 0..60)) {
            let members: Vec<_> = keys.iter().map(|key| format!("\"{key}\":0")).collect();
            let mut seen = HashSet::new();
            let doubled = keys.iter().find(|key| !seen.insert(*key));
            let expected = doubled.map(|key| DocumentError::DoubledMember(key.clone()));
            let given = format!("[{{{}}}]", members.join(","));
            prop_assert_eq!(Document::parse(&given).err(), expected);
        }
    }

    fn any_json() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<i64>().prop_map(Into::into),
            ".{0,12}".prop_map(Into::into),
        ];
        leaf.prop_recursive(4, 64, 12, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Into::into),
                prop::collection::hash_map(".{0,6}", inner, 0..12)
                    .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
            ]
        })
    }
}
