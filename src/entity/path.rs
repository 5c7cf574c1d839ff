//! Paths into a document: the subset of `JSONPath` that conditions, sorting and models use.
//!
//! `workflow-engine.md` §2.10 and `search.md` §3: an optional `$`, dotted names, `['any key']`,
//! `[*]` and `[n]`; no filters, slices or descent.

use std::{fmt, sync::Arc};

use super::{
    DEPTH_MAX,
    document::{Shape, Value},
};

/// One step from a value to those within it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Step {
    /// The member of that name; in a list, a numeric name is an index.
    Member(Arc<str>),
    Element(usize),
    /// Every element.
    Each,
}

/// A path, parsed once.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Path {
    steps: Vec<Step>,
}

/// Why a text is not a valid path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{path}` is not a path: {why}; paths look like `$.a.b`, `$.list[*]`, `$['any name']`")]
pub struct PathError {
    path: String,
    why: &'static str,
}

impl Path {
    pub fn parse(text: &str) -> Result<Self, PathError> {
        let error = |why| PathError {
            path: text.to_owned(),
            why,
        };
        let mut steps = Vec::new();
        let mut rest = text.strip_prefix('$').unwrap_or(text);
        if rest.len() == text.len() && !rest.starts_with(['.', '[']) {
            rest = name(rest, &mut steps).map_err(error)?;
        }
        while !rest.is_empty() {
            if steps.len() == DEPTH_MAX {
                return Err(error("it is deeper than any document"));
            }
            rest = if let Some(after) = rest.strip_prefix('.') {
                name(after, &mut steps)
            } else if let Some(after) = rest.strip_prefix('[') {
                bracket(after, &mut steps)
            } else {
                Err("a `.` or a `[` was expected")
            }
            .map_err(error)?;
        }
        if steps.is_empty() {
            return Err(error("it names no field"));
        }
        Ok(Self { steps })
    }

    /// A path of at least one step.
    pub const fn from_steps(steps: Vec<Step>) -> Self {
        Self { steps }
    }

    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The name, if the path is that of a top-level member.
    pub fn single(&self) -> Option<&str> {
        match self.steps.as_slice() {
            [Step::Member(name)] => Some(name),
            _ => None,
        }
    }

    /// Whether any value at the path satisfies `test`, which receives none if the path leads
    /// nowhere.
    pub fn any<'a>(
        &self,
        root: Value<'a>,
        test: &mut dyn FnMut(Option<Value<'a>>) -> bool,
    ) -> bool {
        walk(&self.steps, root, test)
    }

    /// Whether a list that the path passes through with `[*]` (the first, if several) is missing or
    /// null.
    pub fn misses_its_list(&self, root: Value<'_>) -> bool {
        let list = self.steps.iter().position(|step| *step == Step::Each);
        list.is_some_and(|at| {
            walk(&self.steps[..at], root, &mut |value| {
                value.is_none_or(Value::is_null)
            })
        })
    }

    /// The first value at the path.
    pub fn first<'a>(&self, root: Value<'a>) -> Option<Value<'a>> {
        let mut found = None;
        self.any(root, &mut |value| {
            found = value;
            found.is_some()
        });
        found
    }
}

impl fmt::Display for Path {
    /// The canonical notation.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("$")?;
        for step in &self.steps {
            match step {
                Step::Member(name) if is_plain(name) => write!(f, ".{name}")?,
                Step::Member(name) => {
                    write!(f, "['{}']", name.replace('\\', "\\\\").replace('\'', "\\'"))?;
                }
                Step::Element(index) => write!(f, "[{index}]")?,
                Step::Each => f.write_str("[*]")?,
            }
        }
        Ok(())
    }
}

fn is_plain(name: &str) -> bool {
    !name.is_empty() && !name.contains(['.', '[', ']', '\'', '"'])
}

type Parsed<'a> = Result<&'a str, &'static str>;

fn name<'a>(text: &'a str, steps: &mut Vec<Step>) -> Parsed<'a> {
    let end = text.find(['.', '[']).unwrap_or(text.len());
    if end == 0 {
        return Err("a name is empty");
    }
    steps.push(Step::Member(text[..end].into()));
    Ok(&text[end..])
}

fn bracket<'a>(text: &'a str, steps: &mut Vec<Step>) -> Parsed<'a> {
    if let Some(quote @ ('\'' | '"')) = text.chars().next() {
        return quoted(&text[1..], quote, steps);
    }
    let (inside, rest) = text.split_once(']').ok_or("a `[` is not closed")?;
    steps.push(match inside {
        "*" => Step::Each,
        index => Step::Element(
            index
                .parse()
                .map_err(|_| "only `[*]`, `[n]` and `['name']` may stand in brackets")?,
        ),
    });
    Ok(rest)
}

fn quoted<'a>(text: &'a str, quote: char, steps: &mut Vec<Step>) -> Parsed<'a> {
    let mut name = String::new();
    let mut chars = text.char_indices();
    while let Some((at, char)) = chars.next() {
        if char == '\\' {
            name.extend(chars.next().map(|(_, escaped)| escaped));
        } else if char == quote {
            steps.push(Step::Member(name.into()));
            return text[at + 1..]
                .strip_prefix(']')
                .ok_or("a `[` is not closed");
        } else {
            name.push(char);
        }
    }
    Err("a quoted name is not closed")
}

fn walk<'a>(
    steps: &[Step],
    at: Value<'a>,
    test: &mut dyn FnMut(Option<Value<'a>>) -> bool,
) -> bool {
    let Some((step, rest)) = steps.split_first() else {
        return test(Some(at));
    };
    let next = match (step, at.shape()) {
        (Step::Each, Shape::Array(mut elements)) => {
            return elements.any(|element| walk(rest, element, test));
        }
        (Step::Member(name), Shape::Object(_)) => at.member(name),
        (Step::Member(name), Shape::Array(_)) => {
            name.parse().ok().and_then(|index| at.element(index))
        }
        (Step::Element(index), _) => at.element(*index),
        _ => None,
    };
    match next {
        Some(value) => walk(rest, value, test),
        // There is nothing to step into: a missing field, except that a missing element is not a
        // field.
        None if rest.contains(&Step::Each) || *step == Step::Each => false,
        None => test(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entity::Document;

    #[test]
    fn paths_are_parsed_to_one_spelling() {
        for (given, canonical) in [
            ("$.a.b", "$.a.b"),
            ("a.b", "$.a.b"),
            ("$.lines[*].sku", "$.lines[*].sku"),
            ("$['a']['b c']", "$.a.b c"),
            ("$[\"a.b\"]", "$['a.b']"),
            ("$.IMDB Rating", "$.IMDB Rating"),
            ("$.a[0]", "$.a[0]"),
            ("$['it\\'s']", "$['it\\'s']"),
        ] {
            let path = Path::parse(given).expect(given);
            assert_eq!(path.to_string(), canonical);
            assert_eq!(Path::parse(canonical), Ok(path));
        }
        for given in [
            "",
            "$",
            "$.",
            "$..a",
            "$.a[",
            "$.a[1:2]",
            "$.a[?(@.b)]",
            "$['a",
            "$['a'",
            ".",
            "$a",
        ] {
            assert!(Path::parse(given).is_err(), "{given}");
        }
    }

    #[test]
    fn paths_lead_to_every_value_they_name() {
        let document =
            Document::parse(r#"{"a":{"b":1},"l":[{"s":1},{"t":2},3],"e":[],"n":[[5,6],[7]]}"#)
                .expect("JSON");
        for (path, found) in [
            ("$.a.b", "1"),
            ("$.a.c", "-"),
            ("$.x.y", "-"),
            ("$.l[*].s", "1 - -"),
            ("$.l[1].t", "2"),
            ("$.l.0.s", "1"),
            ("$.l[9].t", "-"),
            ("$.e[*]", ""),
            ("$.e[*].x", ""),
            ("$.x[*]", ""),
            ("$.n[*][*]", "5 6 7"),
        ] {
            let mut seen = Vec::new();
            Path::parse(path)
                .expect(path)
                .any(document.root(), &mut |value| {
                    seen.push(value.map_or("-", Value::json));
                    false
                });
            assert_eq!(seen.join(" "), found, "{path}");
        }
    }
}
