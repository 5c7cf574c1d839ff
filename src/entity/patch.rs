//! Patches of a document: RFC 7386 (merge) and RFC 6902 (operations).
//!
//! Works on its own tree, because numbers must keep their digits.

use std::{
    collections::HashMap,
    sync::atomic::{AtomicBool, Ordering},
};

use foldhash::fast::RandomState;
use indexmap::IndexMap;

use super::{DEPTH_MAX, Document, DocumentError, Number, Shape, Value};

/// A partial change to a document.
#[derive(Debug, Clone)]
pub enum Patch {
    /// RFC 7386: members replace, objects merge, null removes.
    Merge(Document),
    /// RFC 6902: one operation after the other, all or none.
    Operations(Vec<Operation>),
}

/// One operation of a JSON Patch.
#[derive(Debug, Clone)]
pub struct Operation {
    kind: Kind,
    path: Pointer,
}

#[derive(Debug, Clone)]
enum Kind {
    Add(Tree),
    Remove,
    Replace(Tree),
    Move(Pointer),
    Copy(Pointer),
    Test(Tree),
}

/// A JSON Pointer (RFC 6901).
#[derive(Debug, Clone, PartialEq, Eq)]
struct Pointer(Vec<String>);

/// Why a patch cannot be applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    #[error("a JSON Patch must be a list of operations")]
    NotAList,
    #[error("operation {0}: {1}")]
    Operation(usize, &'static str),
    #[error("operation {0}: `{1}` does not exist")]
    Nothing(usize, String),
    #[error("operation {0}: the value at `{1}` differs")]
    TestFailed(usize, String),
    #[error("a patch may have at most {OPERATIONS_MAX} operations; split it")]
    TooMany,
    #[error("the patch copies and moves more than {BYTES_MAX} bytes; split it")]
    TooMuchCopied,
    #[error("the patched document would be larger than {BYTES_MAX} bytes")]
    TooLarge,
    #[error("the patch was cancelled")]
    Cancelled,
    #[error("operation {0}: the document would nest deeper than {DEPTH_MAX} levels")]
    TooDeep(usize),
    #[error("the patched document: {0}")]
    Document(#[from] DocumentError),
}

/// How many operations a patch may have.
const OPERATIONS_MAX: usize = 1_000;

/// How large a patch may make a document, and how much it may copy and move, in bytes: copies of
/// copies could grow without end. It is the default of the largest message.
const BYTES_MAX: usize = 16 << 20;

/// Up to this number of members, each is searched for among the others.
const FEW: usize = 32;

/// A value that can be modified.
#[derive(Debug, Clone)]
enum Tree {
    /// As it was written.
    Literal(Box<str>),
    Array(Vec<Self>),
    Object(Vec<(Box<str>, Self)>),
}

impl Patch {
    /// Reads a JSON Patch.
    pub fn operations(patch: &Document) -> Result<Self, PatchError> {
        let Shape::Array(operations) = patch.root().shape() else {
            return Err(PatchError::NotAList);
        };
        if operations.clone().count() > OPERATIONS_MAX {
            return Err(PatchError::TooMany);
        }
        let operations = operations
            .enumerate()
            .map(|(index, value)| {
                Operation::read(value).map_err(|why| PatchError::Operation(index, why))
            })
            .collect::<Result<_, _>>()?;
        Ok(Self::Operations(operations))
    }

    /// Roughly how many bytes applying it to a document of that many bytes has to visit.
    pub fn work(&self, bytes: usize) -> usize {
        match self {
            Self::Merge(patch) => bytes.saturating_add(patch.json().as_str().len()),
            Self::Operations(operations) => {
                let copies = operations.iter().filter(|operation| operation.is_copy());
                // Each copy may double the document.
                let largest = copies.fold(bytes, |bytes, _| bytes.saturating_mul(2));
                let values = operations.iter().map(Operation::size).sum();
                largest
                    .saturating_add(values)
                    .saturating_mul(operations.len().max(1))
            }
        }
    }

    /// Applies the patch to a document.
    pub fn apply(&self, document: &Document) -> Result<Document, PatchError> {
        self.apply_unless(document, &AtomicBool::new(false))
    }

    /// The same, until the flag is set: nobody waits for the result then.
    pub fn apply_unless(
        &self,
        document: &Document,
        stop: &AtomicBool,
    ) -> Result<Document, PatchError> {
        let patched = match self {
            Self::Merge(patch) => merge(Some(Tree::read(document.root())), patch.root()),
            Self::Operations(operations) => {
                let mut tree = Tree::read(document.root());
                let mut copied = 0;
                for (index, operation) in operations.iter().enumerate() {
                    if stop.load(Ordering::Relaxed) {
                        return Err(PatchError::Cancelled);
                    }
                    operation.apply(&mut tree, index, &mut copied)?;
                }
                tree
            }
        };
        let mut text = String::new();
        patched.write(&mut text);
        // A document that was larger before may stay so.
        if text.len() > BYTES_MAX.max(document.json().as_str().len()) {
            return Err(PatchError::TooLarge);
        }
        Ok(Document::parse(&text)?)
    }
}

/// RFC 7386 §2.
fn merge(target: Option<Tree>, patch: Value<'_>) -> Tree {
    let Shape::Object(members) = patch.shape() else {
        return Tree::read(patch);
    };
    let target = match target {
        Some(Tree::Object(members)) => members,
        Some(Tree::Literal(_) | Tree::Array(_)) | None => Vec::new(),
    };
    // By hash, because both may have many members; none where one is removed.
    let mut merged: IndexMap<Box<str>, Option<Tree>, RandomState> = target
        .into_iter()
        .map(|(name, value)| (name, Some(value)))
        .collect();
    for (name, value) in members {
        match (merged.get_mut(&*name), value.is_null()) {
            (Some(place), true) => *place = None,
            (None, true) => {}
            (Some(place), false) => *place = Some(merge(place.take(), value)),
            (None, false) => {
                merged.insert(name.as_ref().into(), Some(merge(None, value)));
            }
        }
    }
    let left = merged.into_iter();
    Tree::Object(
        left.filter_map(|(name, value)| Some((name, value?)))
            .collect(),
    )
}

impl Operation {
    fn read(value: Value<'_>) -> Result<Self, &'static str> {
        if !value.is_object() {
            return Err("it is not an object");
        }
        let text = |name| value.member(name).and_then(Value::as_str);
        let pointer = |name| Pointer::parse(&text(name).ok_or("`path` or `from` is missing")?);
        let operand = || {
            let value = value.member("value").ok_or("`value` is missing")?;
            Ok::<_, &'static str>(Tree::read(value))
        };
        let kind = match text("op").as_deref() {
            Some("add") => Kind::Add(operand()?),
            Some("remove") => Kind::Remove,
            Some("replace") => Kind::Replace(operand()?),
            Some("move") => Kind::Move(pointer("from")?),
            Some("copy") => Kind::Copy(pointer("from")?),
            Some("test") => Kind::Test(operand()?),
            _ => return Err("`op` must be one of add, remove, replace, move, copy, test"),
        };
        Ok(Self {
            kind,
            path: pointer("path")?,
        })
    }

    const fn is_copy(&self) -> bool {
        matches!(self.kind, Kind::Copy(_))
    }

    /// The approximate length of its value.
    fn size(&self) -> usize {
        match &self.kind {
            Kind::Add(value) | Kind::Replace(value) | Kind::Test(value) => value.size(),
            Kind::Remove | Kind::Move(_) | Kind::Copy(_) => 0,
        }
    }

    fn apply(&self, tree: &mut Tree, index: usize, copied: &mut usize) -> Result<(), PatchError> {
        let nothing = |pointer: &Pointer| PatchError::Nothing(index, pointer.text());
        let path = &self.path;
        let fits = |value: &Tree| {
            if path.0.len() + value.depth() > DEPTH_MAX {
                return Err(PatchError::TooDeep(index));
            }
            Ok(())
        };
        let mut take = |value: &Tree| {
            *copied += value.size();
            if *copied > BYTES_MAX {
                return Err(PatchError::TooMuchCopied);
            }
            fits(value)
        };
        match &self.kind {
            Kind::Add(value) => {
                fits(value)?;
                tree.add(&path.0, value.clone())
                    .ok_or_else(|| nothing(path))
            }
            Kind::Remove => tree
                .remove(&path.0)
                .map(|_| ())
                .ok_or_else(|| nothing(path)),
            Kind::Replace(value) => {
                fits(value)?;
                let place = tree.at_mut(&path.0).ok_or_else(|| nothing(path))?;
                *place = value.clone();
                Ok(())
            }
            Kind::Move(from) => {
                if path.0.len() > from.0.len() && path.0.starts_with(&from.0) {
                    let why = "a value cannot be moved into itself";
                    return Err(PatchError::Operation(index, why));
                }
                let value = tree.remove(&from.0).ok_or_else(|| nothing(from))?;
                take(&value)?;
                tree.add(&path.0, value).ok_or_else(|| nothing(path))
            }
            Kind::Copy(from) => {
                let value = tree.at_mut(&from.0).ok_or_else(|| nothing(from))?;
                take(value)?;
                let value = value.clone();
                tree.add(&path.0, value).ok_or_else(|| nothing(path))
            }
            Kind::Test(value) => {
                let place = tree.at_mut(&path.0).ok_or_else(|| nothing(path))?;
                if place.same_as(value) {
                    Ok(())
                } else {
                    Err(PatchError::TestFailed(index, path.text()))
                }
            }
        }
    }
}

impl Pointer {
    fn parse(text: &str) -> Result<Self, &'static str> {
        if text.is_empty() {
            return Ok(Self(Vec::new()));
        }
        let rest = text
            .strip_prefix('/')
            .ok_or("a pointer is empty or begins with `/`")?;
        let steps = rest.split('/').map(|step| {
            let mut chars = step.chars();
            let mut name = String::with_capacity(step.len());
            while let Some(char) = chars.next() {
                name.push(match (char, char == '~') {
                    (_, false) => char,
                    (_, true) => match chars.next() {
                        Some('0') => '~',
                        Some('1') => '/',
                        _ => return Err("`~` in a pointer is followed by 0 or 1"),
                    },
                });
            }
            Ok(name)
        });
        steps.collect::<Result<_, _>>().map(Self)
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for step in &self.0 {
            text.push('/');
            text.push_str(&step.replace('~', "~0").replace('/', "~1"));
        }
        text
    }
}

/// The index that a pointer step denotes in a list of that length; RFC 6901 allows no leading
/// zeros.
fn index(step: &str, len: usize) -> Option<usize> {
    let plain = step == "0" || !step.starts_with('0');
    let digits = !step.is_empty() && step.bytes().all(|byte| byte.is_ascii_digit());
    if !plain || !digits {
        return None;
    }
    step.parse().ok().filter(|index| *index < len)
}

impl Tree {
    fn read(value: Value<'_>) -> Self {
        match value.shape() {
            Shape::Array(elements) => Self::Array(elements.map(Self::read).collect()),
            Shape::Object(members) => Self::Object(
                members
                    .map(|(name, value)| (name.as_ref().into(), Self::read(value)))
                    .collect(),
            ),
            Shape::Null | Shape::Bool(_) | Shape::Number(_) | Shape::String(_) => {
                Self::Literal(value.json().into())
            }
        }
    }

    fn write(&self, text: &mut String) {
        match self {
            Self::Literal(literal) => text.push_str(literal),
            Self::Array(elements) => {
                text.push('[');
                for (index, element) in elements.iter().enumerate() {
                    if index > 0 {
                        text.push(',');
                    }
                    element.write(text);
                }
                text.push(']');
            }
            Self::Object(members) => {
                text.push('{');
                for (index, (name, value)) in members.iter().enumerate() {
                    if index > 0 {
                        text.push(',');
                    }
                    text.push_str(&serde_json::Value::from(&**name).to_string());
                    text.push(':');
                    value.write(text);
                }
                text.push('}');
            }
        }
    }

    /// The approximate length of its text.
    fn size(&self) -> usize {
        match self {
            Self::Literal(literal) => literal.len(),
            Self::Array(elements) => elements.iter().map(|element| element.size() + 1).sum(),
            Self::Object(members) => members
                .iter()
                .map(|(name, value)| name.len() + value.size() + 4)
                .sum(),
        }
    }

    /// Its nesting depth; an empty structure has one level.
    fn depth(&self) -> usize {
        match self {
            Self::Literal(_) => 0,
            Self::Array(elements) => 1 + elements.iter().map(Self::depth).max().unwrap_or(0),
            Self::Object(members) => {
                1 + members
                    .iter()
                    .map(|(_, value)| value.depth())
                    .max()
                    .unwrap_or(0)
            }
        }
    }

    fn at_mut(&mut self, path: &[String]) -> Option<&mut Self> {
        let Some((step, rest)) = path.split_first() else {
            return Some(self);
        };
        let child = match self {
            Self::Literal(_) => None,
            Self::Array(elements) => {
                let index = index(step, elements.len())?;
                elements.get_mut(index)
            }
            Self::Object(members) => members
                .iter_mut()
                .find(|(name, _)| **name == **step)
                .map(|(_, value)| value),
        };
        child?.at_mut(rest)
    }

    fn add(&mut self, path: &[String], value: Self) -> Option<()> {
        let Some((last, parents)) = path.split_last() else {
            *self = value;
            return Some(());
        };
        match self.at_mut(parents)? {
            Self::Literal(_) => None,
            Self::Array(elements) if last == "-" => {
                elements.push(value);
                Some(())
            }
            Self::Array(elements) => {
                let index = index(last, elements.len() + 1)?;
                elements.insert(index, value);
                Some(())
            }
            Self::Object(members) => {
                match members.iter_mut().find(|(name, _)| **name == **last) {
                    Some((_, old)) => *old = value,
                    None => members.push((last.as_str().into(), value)),
                }
                Some(())
            }
        }
    }

    fn remove(&mut self, path: &[String]) -> Option<Self> {
        let Some((last, parents)) = path.split_last() else {
            return Some(std::mem::replace(self, Self::Literal("null".into())));
        };
        match self.at_mut(parents)? {
            Self::Literal(_) => None,
            Self::Array(elements) => {
                let index = index(last, elements.len())?;
                Some(elements.remove(index))
            }
            Self::Object(members) => {
                let at = members.iter().position(|(name, _)| **name == **last)?;
                Some(members.remove(at).1)
            }
        }
    }

    /// Numbers by value, members in any order.
    fn same_as(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Literal(one), Self::Literal(two)) => {
                one == two
                    || Number::parse(one)
                        .zip(Number::parse(two))
                        .is_some_and(|(one, two)| one == two)
            }
            (Self::Array(one), Self::Array(two)) => {
                one.len() == two.len() && one.iter().zip(two).all(|(one, two)| one.same_as(two))
            }
            (Self::Object(one), Self::Object(two)) if one.len() != two.len() => false,
            (Self::Object(one), Self::Object(two)) if one.len() <= FEW => {
                one.iter().all(|(name, value)| {
                    two.iter()
                        .any(|(known, other)| name == known && value.same_as(other))
                })
            }
            (Self::Object(one), Self::Object(two)) => {
                let known = two.iter().map(|(name, other)| (name, other));
                let known: HashMap<_, _, RandomState> = known.collect();
                one.iter().all(|(name, value)| {
                    let other = known.get(name);
                    other.is_some_and(|other| value.same_as(other))
                })
            }
            (Self::Literal(_) | Self::Array(_) | Self::Object(_), _) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    fn document(text: &str) -> Document {
        Document::parse(text).expect(text)
    }

    /// The examples of RFC 7386, appendix A, and numbers that keep their digits.
    #[test]
    fn merges_are_those_of_the_standard() {
        for (target, patch, merged) in [
            (r#"{"a":"b"}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#),
            (r#"{"a":"b"}"#, r#"{"b":"c"}"#, r#"{"a":"b","b":"c"}"#),
            (r#"{"a":"b"}"#, r#"{"a":null}"#, "{}"),
            (r#"{"a":"b","b":"c"}"#, r#"{"a":null}"#, r#"{"b":"c"}"#),
            (r#"{"a":["b"]}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#),
            (r#"{"a":"c"}"#, r#"{"a":["b"]}"#, r#"{"a":["b"]}"#),
            (
                r#"{"a":{"b":"c"}}"#,
                r#"{"a":{"b":"d","c":null}}"#,
                r#"{"a":{"b":"d"}}"#,
            ),
            (r#"{"a":[{"b":"c"}]}"#, r#"{"a":[1]}"#, r#"{"a":[1]}"#),
            (r#"["a","b"]"#, r#"["c","d"]"#, r#"["c","d"]"#),
            (r#"{"a":"b"}"#, r#"["c"]"#, r#"["c"]"#),
            (r#"{"a":"foo"}"#, "null", "null"),
            (r#"{"e":null}"#, r#"{"a":1}"#, r#"{"e":null,"a":1}"#),
            ("[1,2]", r#"{"a":"b","c":null}"#, r#"{"a":"b"}"#),
            ("{}", r#"{"a":{"bb":{"ccc":null}}}"#, r#"{"a":{"bb":{}}}"#),
            (
                r#"{"n":1.50,"m":2}"#,
                r#"{"m":100000000000000000000.10}"#,
                r#"{"n":1.50,"m":100000000000000000000.10}"#,
            ),
            (r#"{"a\"b":1}"#, "{}", r#"{"a\"b":1}"#),
        ] {
            let patched = Patch::Merge(document(patch)).apply(&document(target));
            assert_eq!(
                patched.expect("applies").json().as_str(),
                merged,
                "{target} {patch}"
            );
        }
    }

    /// The examples of RFC 6902, appendix A, and edge cases.
    #[expect(clippy::too_many_lines, reason = "a table")]
    #[test]
    fn operations_are_those_of_the_standard() {
        for (target, patch, patched) in [
            (
                r#"{"foo":"bar"}"#,
                r#"[{"op":"add","path":"/baz","value":"qux"}]"#,
                Some(r#"{"foo":"bar","baz":"qux"}"#),
            ),
            (
                r#"{"foo":["bar","baz"]}"#,
                r#"[{"op":"add","path":"/foo/1","value":"qux"}]"#,
                Some(r#"{"foo":["bar","qux","baz"]}"#),
            ),
            (
                r#"{"baz":"qux","foo":"bar"}"#,
                r#"[{"op":"remove","path":"/baz"}]"#,
                Some(r#"{"foo":"bar"}"#),
            ),
            (
                r#"{"foo":["bar","qux","baz"]}"#,
                r#"[{"op":"remove","path":"/foo/1"}]"#,
                Some(r#"{"foo":["bar","baz"]}"#),
            ),
            (
                r#"{"baz":"qux"}"#,
                r#"[{"op":"replace","path":"/baz","value":1.0}]"#,
                Some(r#"{"baz":1.0}"#),
            ),
            (
                r#"{"foo":{"bar":"baz","waldo":"fred"},"qux":{"corge":"grault"}}"#,
                r#"[{"op":"move","from":"/foo/waldo","path":"/qux/thud"}]"#,
                Some(r#"{"foo":{"bar":"baz"},"qux":{"corge":"grault","thud":"fred"}}"#),
            ),
            (
                r#"{"foo":["all","grass","cows","eat"]}"#,
                r#"[{"op":"move","from":"/foo/1","path":"/foo/3"}]"#,
                Some(r#"{"foo":["all","cows","eat","grass"]}"#),
            ),
            (
                r#"{"baz":"qux","foo":["a",2,"c"]}"#,
                r#"[{"op":"test","path":"/baz","value":"qux"},{"op":"test","path":"/foo/1","value":2.0}]"#,
                Some(r#"{"baz":"qux","foo":["a",2,"c"]}"#),
            ),
            (
                r#"{"baz":"qux"}"#,
                r#"[{"op":"test","path":"/baz","value":"bar"}]"#,
                None,
            ),
            (
                r#"{"foo":"bar"}"#,
                r#"[{"op":"add","path":"/child","value":{"grandchild":{}}}]"#,
                Some(r#"{"foo":"bar","child":{"grandchild":{}}}"#),
            ),
            (
                r#"{"foo":"bar"}"#,
                r#"[{"op":"add","path":"/baz/bat","value":"qux"}]"#,
                None,
            ),
            (
                r#"{"/":9,"~1":10}"#,
                r#"[{"op":"test","path":"/~01","value":10},{"op":"test","path":"/~1","value":9}]"#,
                Some(r#"{"/":9,"~1":10}"#),
            ),
            (
                r#"{"foo":["bar"]}"#,
                r#"[{"op":"add","path":"/foo/-","value":["abc","def"]}]"#,
                Some(r#"{"foo":["bar",["abc","def"]]}"#),
            ),
            (
                r#"{"a":{"b":1}}"#,
                r#"[{"op":"copy","from":"/a","path":"/a/c"}]"#,
                Some(r#"{"a":{"b":1,"c":{"b":1}}}"#),
            ),
            (
                r#"{"a":{"b":1}}"#,
                r#"[{"op":"move","from":"/a","path":"/a/c"}]"#,
                None,
            ),
            (r#"{"a":[1]}"#, r#"[{"op":"remove","path":"/a/00"}]"#, None),
            (
                r#"{"a":[1]}"#,
                r#"[{"op":"add","path":"/a/2","value":1}]"#,
                None,
            ),
            (r#"{"a":1}"#, r#"[{"op":"remove","path":"/b"}]"#, None),
            (
                r#"{"a":1}"#,
                r#"[{"op":"replace","path":"","value":{"b":2}}]"#,
                Some(r#"{"b":2}"#),
            ),
        ] {
            let operations = Patch::operations(&document(patch)).expect(patch);
            let made = operations.apply(&document(target)).ok();
            assert_eq!(
                made.as_ref().map(|made| made.json().as_str()),
                patched,
                "{target} {patch}"
            );
        }
        for malformed in [
            "{}",
            "[1]",
            r#"[{"op":"add","path":"/a"}]"#,
            r#"[{"op":"jump","path":"/a"}]"#,
            r#"[{"op":"remove"}]"#,
            r#"[{"op":"remove","path":"a"}]"#,
            r#"[{"op":"remove","path":"/~2"}]"#,
            r#"[{"op":"copy","path":"/a"}]"#,
        ] {
            assert!(
                Patch::operations(&document(malformed)).is_err(),
                "{malformed}"
            );
        }
    }

    #[test]
    fn a_patch_cannot_nest_without_end() {
        let deeper = r#"{"op":"add","path":"/x","value":{}},{"op":"move","from":"/a","path":"/x/a"},{"op":"move","from":"/x","path":"/a"}"#;
        let patch = Patch::operations(&document(&format!("[{}]", vec![deeper; 300].join(","))));
        let patched = patch.expect("a patch").apply(&document(r#"{"a":1}"#));
        assert!(
            matches!(patched, Err(PatchError::TooDeep(_))),
            "{patched:?}"
        );
    }

    #[test]
    fn copies_of_copies_end_at_a_size() {
        // Each copy of everything doubles the document.
        let copy = |n: usize| format!(r#"{{"op":"copy","from":"","path":"/c{n}"}}"#);
        let copies: Vec<_> = (0..40).map(copy).collect();
        let copies = format!("[{}]", copies.join(","));
        let patch = Patch::operations(&document(&copies)).expect("a patch");
        let text = "x".repeat(1 << 16);
        let target = document(&format!(r#"{{"a":"{text}","b":"{text}"}}"#));
        assert_eq!(patch.apply(&target).err(), Some(PatchError::TooMuchCopied));
        assert!(patch.work(target.json().as_str().len()) > BYTES_MAX);
    }

    #[test]
    fn little_is_copied_until_too_much_is() {
        let tree = || Tree::read(document(r#"{"a":"0123456789"}"#).root());
        // Each copy of everything doubles the document.
        let copy = |n: usize| format!(r#"{{"op":"copy","from":"","path":"/c{n}"}}"#);
        let all: Vec<_> = (0..40).map(copy).collect();
        let all = format!("[{}]", all.join(","));
        let patch = Patch::operations(&document(&all)).expect("a patch");
        let Patch::Operations(operations) = patch else {
            panic!("operations");
        };
        let (mut tree, mut copied, mut largest) = (tree(), 0, 0);
        let refused = operations
            .iter()
            .enumerate()
            .find_map(|(index, operation)| {
                largest = tree.size();
                operation.apply(&mut tree, index, &mut copied).err()
            });
        assert_eq!(refused, Some(PatchError::TooMuchCopied));
        assert!(largest <= 2 * BYTES_MAX, "{largest}");
    }

    #[test]
    fn a_patch_does_not_let_a_document_grow_without_a_limit() {
        let text = |mib: usize| format!(r#""{}""#, "x".repeat(mib << 20));
        let merge = |mib| Patch::Merge(document(&format!(r#"{{"b":{}}}"#, text(mib))));
        let nine = document(&format!(r#"{{"a":{}}}"#, text(9)));
        assert_eq!(merge(9).apply(&nine).err(), Some(PatchError::TooLarge));
        let large = document(&format!(r#"{{"a":{},"b":{}}}"#, text(9), text(9)));
        assert!(merge(9).apply(&large).is_ok(), "it has not grown");
        assert_eq!(merge(10).apply(&large).err(), Some(PatchError::TooLarge));
        let copy = document(r#"[{"op":"copy","from":"/a","path":"/b"}]"#);
        let copy = Patch::operations(&copy).expect("a patch");
        assert_eq!(copy.apply(&nine).err(), Some(PatchError::TooLarge));
    }

    #[test]
    fn many_members_are_merged_and_compared_by_name() {
        let count = 20_000;
        let object = |value: &str, names: std::ops::Range<usize>| {
            let members: Vec<_> = names.map(|n| format!("\"m{n}\":{value}")).collect();
            format!("{{{}}}", members.join(","))
        };
        let target = document(&object("1", 0..count));
        let began = Instant::now();
        let merged = Patch::Merge(document(&object("2", 0..2 * count))).apply(&target);
        let merged = merged.expect("applies");
        assert_eq!(merged.json().as_str(), object("2", 0..2 * count));
        let removed = Patch::Merge(document(&object("null", 1..2 * count))).apply(&merged);
        assert_eq!(removed.expect("applies").json().as_str(), r#"{"m0":2}"#);
        let members = (0..count).rev().map(|n| format!("\"m{n}\":1.0"));
        let reversed = members.collect::<Vec<_>>().join(",");
        let test = format!(r#"[{{"op":"test","path":"","value":{{{reversed}}}}}]"#);
        let test = Patch::operations(&document(&test)).expect("a patch");
        assert!(test.apply(&target).is_ok());
        // It takes a fraction of a second, and minutes where each member is compared with all others.
        let took = began.elapsed();
        assert!(took < Duration::from_secs(10), "{took:?}");
    }
}
