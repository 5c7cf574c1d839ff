//! Patches of a document: RFC 7386 (merge) and RFC 6902 (operations).
//!
//! Works on its own tree, because numbers must keep their digits.

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
    #[error("the patch adds, copies and moves more than {WORK_MAX} bytes; split it")]
    TooLarge,
    #[error("operation {0}: the document would nest deeper than {DEPTH_MAX} levels")]
    TooDeep(usize),
    #[error("the patched document: {0}")]
    Document(#[from] DocumentError),
}

/// How many operations a patch may have.
const OPERATIONS_MAX: usize = 1_000;

/// How much a patch may add, copy and move, in bytes: copies of copies could grow without end.
const WORK_MAX: usize = 64 << 20;

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

    /// Applies the patch to a document.
    pub fn apply(&self, document: &Document) -> Result<Document, PatchError> {
        let patched = match self {
            Self::Merge(patch) => merge(Some(Tree::read(document.root())), patch.root()),
            Self::Operations(operations) => {
                let mut tree = Tree::read(document.root());
                let mut work = 0;
                for (index, operation) in operations.iter().enumerate() {
                    operation.apply(&mut tree, index, &mut work)?;
                }
                tree
            }
        };
        let mut text = String::new();
        patched.write(&mut text);
        Ok(Document::parse(&text)?)
    }
}

/// RFC 7386 §2.
fn merge(target: Option<Tree>, patch: Value<'_>) -> Tree {
    let Shape::Object(members) = patch.shape() else {
        return Tree::read(patch);
    };
    let mut merged = match target {
        Some(Tree::Object(members)) => members,
        Some(Tree::Literal(_) | Tree::Array(_)) | None => Vec::new(),
    };
    for (name, value) in members {
        let at = merged.iter().position(|(known, _)| **known == *name);
        match (at, value.is_null()) {
            (Some(at), true) => {
                merged.remove(at);
            }
            (None, true) => {}
            (Some(at), false) => {
                let old = std::mem::replace(&mut merged[at].1, Tree::Literal("null".into()));
                merged[at].1 = merge(Some(old), value);
            }
            (None, false) => merged.push((name.as_ref().into(), merge(None, value))),
        }
    }
    Tree::Object(merged)
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

    fn apply(&self, tree: &mut Tree, index: usize, work: &mut usize) -> Result<(), PatchError> {
        let nothing = |pointer: &Pointer| PatchError::Nothing(index, pointer.text());
        let path = &self.path;
        let mut take = |value: &Tree| {
            let depth = value.depth();
            *work += value.size();
            if path.0.len() + depth > DEPTH_MAX {
                Err(PatchError::TooDeep(index))
            } else if *work > WORK_MAX {
                Err(PatchError::TooLarge)
            } else {
                Ok(())
            }
        };
        match &self.kind {
            Kind::Add(value) => {
                take(value)?;
                tree.add(&path.0, value.clone())
                    .ok_or_else(|| nothing(path))
            }
            Kind::Remove => tree
                .remove(&path.0)
                .map(|_| ())
                .ok_or_else(|| nothing(path)),
            Kind::Replace(value) => {
                take(value)?;
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
            (Self::Object(one), Self::Object(two)) => {
                one.len() == two.len()
                    && one.iter().all(|(name, value)| {
                        two.iter()
                            .any(|(known, other)| name == known && value.same_as(other))
                    })
            }
            (Self::Literal(_) | Self::Array(_) | Self::Object(_), _) => false,
        }
    }
}

#[cfg(test)]
mod tests {
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
        let copies = vec![r#"{"op":"copy","from":"","path":"/c"}"#; 40].join(",");
        let patch = Patch::operations(&document(&format!("[{copies}]"))).expect("a patch");
        let text = "x".repeat(1 << 16);
        let target = document(&format!(r#"{{"a":"{text}","b":"{text}"}}"#));
        assert_eq!(patch.apply(&target).err(), Some(PatchError::TooLarge));
    }
}
