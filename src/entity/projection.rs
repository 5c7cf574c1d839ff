//! Projections: reads a few members of a stored document, and skips all others.
//!
//! Evaluating a million documents takes as long as reading them: in each one, members that a
//! condition does not name are skipped, and nothing is copied.

use std::collections::HashMap;

use super::{
    DEPTH_MAX, Path, Step, Value,
    document::{Kind, Node},
    scan,
};

/// The number of names from which a name is looked up instead of searched for.
const FEW: usize = 16;

/// The members to read: those that some paths lead through.
#[derive(Debug, Default)]
pub struct ProjectedPaths {
    /// By their names as canonical text writes them, without the quotes.
    members: Vec<(Box<str>, Self)>,
    /// The positions of the members, if there are many.
    places: Option<HashMap<Box<[u8]>, usize>>,
    /// Everything from here on is read.
    whole: bool,
}

impl ProjectedPaths {
    pub fn new<'a>(paths: impl IntoIterator<Item = &'a Path>) -> Self {
        let mut wanted = Self::default();
        for path in paths {
            wanted.add(path.steps());
        }
        wanted
    }

    fn add(&mut self, steps: &[Step]) {
        // Lists usually have few elements, and a step into each would be many paths.
        let Some((Step::Member(name), rest)) = steps.split_first() else {
            self.whole = true;
            return;
        };
        let written = written(name);
        let at = self.place(written.as_bytes()).unwrap_or_else(|| {
            let at = self.members.len();
            if let Some(places) = &mut self.places {
                places.insert(written.as_bytes().into(), at);
            }
            self.members.push((written, Self::default()));
            at
        });
        if self.places.is_none() && self.members.len() > FEW {
            let names = self.members.iter().map(|(name, _)| name.as_bytes().into());
            self.places = Some(names.zip(0..).collect());
        }
        self.members[at].1.add(rest);
    }

    /// The position of a member among those to read.
    fn place(&self, name: &[u8]) -> Option<usize> {
        match &self.places {
            None => {
                let mut members = self.members.iter();
                members.position(|(known, _)| known.as_bytes() == name)
            }
            Some(places) => places.get(name).copied(),
        }
    }
}

/// A name as canonical text writes it.
fn written(name: &str) -> Box<str> {
    serde_json::to_string(name)
        .ok()
        .and_then(|quoted| Some(quoted.get(1..quoted.len() - 1)?.into()))
        .unwrap_or_else(|| name.into())
}

/// Reads documents one after the other, reusing memory.
#[derive(Debug, Default)]
pub struct Projection {
    nodes: Vec<Node>,
}

impl Projection {
    /// The projection of a canonical text: wanted paths lead to the same values as in the whole
    /// document, others to fewer. None if the text is not a canonical document.
    pub fn read<'a>(&'a mut self, text: &'a str, wanted: &ProjectedPaths) -> Option<Value<'a>> {
        self.nodes.clear();
        u32::try_from(text.len()).ok()?;
        let mut reader = Reader {
            text: text.as_bytes(),
            at: 0,
            depth: 0,
            nodes: &mut self.nodes,
        };
        reader.value(wanted, true)?;
        // Nodes begin and end at character boundaries, because brackets and quotes do.
        let root = Value::root_of(text, &self.nodes);
        Some(root)
    }
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
    depth: usize,
    nodes: &'a mut Vec<Node>,
}

impl Reader<'_> {
    fn byte(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "the text is shorter than 4 GiB, and there are fewer nodes than bytes"
    )]
    fn push(&mut self, kind: Kind, start: usize, end: usize) {
        let next = self.nodes.len() as u32 + 1;
        self.nodes.push(Node {
            kind,
            start: start as u32,
            end: end as u32,
            next,
        });
    }

    /// Reads the value that begins here. The end of the `last` one is not needed.
    fn value(&mut self, wanted: &ProjectedPaths, last: bool) -> Option<()> {
        let start = self.at;
        match self.byte()? {
            b'{' if wanted.whole => self.container(Kind::Object, b'}', wanted),
            b'[' => self.container(Kind::Array, b']', &ProjectedPaths::WHOLE),
            b'{' => self.members(wanted, last),
            b'"' => {
                let kind = self.string()?;
                self.push(kind, start + 1, self.at - 1);
                Some(())
            }
            first => {
                let kind = match first {
                    b'n' => Kind::Null,
                    b't' => Kind::True,
                    b'f' => Kind::False,
                    b'-' | b'0'..=b'9' => Kind::Number,
                    _ => return None,
                };
                self.scalar();
                self.push(kind, start, self.at);
                Some(())
            }
        }
    }

    /// Reads a whole list or object.
    fn container(&mut self, kind: Kind, end: u8, wanted: &ProjectedPaths) -> Option<()> {
        let node = self.open(kind)?;
        while self.byte()? != end {
            if kind == Kind::Object {
                let key = self.at;
                if self.byte()? != b'"' {
                    return None;
                }
                let escaped = self.string()?;
                self.push(escaped, key + 1, self.at - 1);
                self.pass(b':')?;
            }
            self.value(wanted, false)?;
            if self.byte()? == b',' {
                self.at += 1;
            }
        }
        self.at += 1;
        self.close(node);
        Some(())
    }

    /// Reads the wanted members of an object. A name occurs once, so everything after the last
    /// wanted one is skipped.
    fn members(&mut self, wanted: &ProjectedPaths, last: bool) -> Option<()> {
        let node = self.open(Kind::Object)?;
        let mut left = wanted.members.len();
        while self.byte()? != b'}' {
            if left == 0 {
                if last {
                    self.at = self.text.len();
                } else {
                    self.skip_open(1)?;
                }
                self.close(node);
                return Some(());
            }
            let key = self.at + 1;
            if self.byte()? != b'"' {
                return None;
            }
            let kind = self.string()?;
            let name = &self.text[key..self.at - 1];
            let member = wanted.place(name);
            let end = self.at - 1;
            self.pass(b':')?;
            if let Some((_, wanted)) = member.and_then(|at| wanted.members.get(at)) {
                left -= 1;
                self.push(kind, key, end);
                self.value(wanted, last && left == 0)?;
                if last && left == 0 {
                    self.at = self.text.len();
                    self.close(node);
                    return Some(());
                }
            } else {
                self.skip()?;
            }
            if self.byte()? == b',' {
                self.at += 1;
            }
        }
        self.at += 1;
        self.close(node);
        Some(())
    }

    fn open(&mut self, kind: Kind) -> Option<usize> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return None;
        }
        let node = self.nodes.len();
        self.push(kind, self.at, self.at);
        self.at += 1;
        Some(node)
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "the text is shorter than 4 GiB, and there are fewer nodes than bytes"
    )]
    fn close(&mut self, node: usize) {
        self.depth -= 1;
        let next = self.nodes.len() as u32;
        self.nodes[node].end = self.at as u32;
        self.nodes[node].next = next;
    }

    fn pass(&mut self, mark: u8) -> Option<()> {
        (self.byte()? == mark).then(|| self.at += 1)
    }

    /// Skips a string, from quote to quote.
    fn string(&mut self) -> Option<Kind> {
        let (end, escaped) = scan::skip_string(self.text, self.at)?;
        self.at = end;
        Some(if escaped { Kind::Escaped } else { Kind::Plain })
    }

    fn scalar(&mut self) {
        while let Some(byte) = self.byte()
            && !matches!(byte, b',' | b'}' | b']')
        {
            self.at += 1;
        }
    }

    /// Skips a value.
    fn skip(&mut self) -> Option<()> {
        match self.byte()? {
            b'"' => {
                self.string()?;
            }
            b'{' | b'[' => {
                self.at += 1;
                self.skip_open(1)?;
            }
            _ => self.scalar(),
        }
        Some(())
    }

    /// Skips the closing brackets of that many open ones.
    fn skip_open(&mut self, open: usize) -> Option<()> {
        self.at = scan::brackets(self.text, self.at, open)?;
        Some(())
    }
}

impl ProjectedPaths {
    const WHOLE: Self = Self {
        members: Vec::new(),
        places: None,
        whole: true,
    };
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::entity::Document;

    /// The values at a path in a document, and in a projection of it.
    fn seen(json: &str, paths: &[&str]) -> [Vec<String>; 2] {
        let document = Document::parse(json).expect(json);
        let paths: Vec<Path> = paths
            .iter()
            .map(|path| Path::parse(path).expect(path))
            .collect();
        let mut projection = Projection::default();
        let text = document.json().as_str();
        let root = projection
            .read(text, &ProjectedPaths::new(&paths))
            .expect(json);
        [document.root(), root].map(|root| {
            let mut seen = Vec::new();
            for path in &paths {
                path.any(root, &mut |value| {
                    seen.push(
                        value.map_or_else(|| "-".to_owned(), |value| value.json().to_owned()),
                    );
                    false
                });
            }
            seen
        })
    }

    #[test]
    fn what_is_wanted_is_read_and_nothing_else() {
        let json = r#"{"a":1,"skipped":{"a":[{"x":"}\"]"}]},"o":{"k":{"deep":[1,2]},"z":2},"a\"b":"\\","l":[{"k":1},{"k":2}],"end":null}"#;
        let document = Document::parse(json).expect("JSON");
        let paths = ["$.o.k", "$['a\"b']", "$.end"].map(|path| Path::parse(path).expect(path));
        let mut projection = Projection::default();
        let root = projection
            .read(document.json().as_str(), &ProjectedPaths::new(&paths))
            .expect("reads");
        assert_eq!(root.member("a").map(Value::json), None);
        assert_eq!(
            root.member("o")
                .and_then(|o| o.member("k"))
                .map(Value::json),
            Some(r#"{"deep":[1,2]}"#)
        );
        assert_eq!(root.member("a\"b").map(Value::json), Some(r#""\\""#));
        assert!(root.member("end").is_some_and(Value::is_null));
    }

    #[test]
    fn what_is_no_document_is_no_glimpse() {
        let wanted = ProjectedPaths::new(&[Path::parse("$.a.b").expect("a path")]);
        for text in [
            "",
            "{",
            "[",
            "\"",
            "{\"a",
            "{\"a\"",
            "{\"a\":",
            "{\"a\":{",
            "{\"a\":{\"b\":\"\\",
            "x",
            "{\"x\":[",
            "{\"x\":\"\\\"",
            "{1}",
        ] {
            assert!(
                Projection::default().read(text, &wanted).is_none(),
                "{text}"
            );
        }
    }

    fn any_json() -> impl Strategy<Value = String> {
        let leaf = prop_oneof![
            Just("null".to_owned()),
            Just("true".to_owned()),
            "-?[0-9]{1,3}(\\.[0-9]{1,2})?".prop_filter("leading zeros", |text| {
                serde_json::from_str::<serde_json::Value>(text).is_ok()
            }),
            "[a-c\"\\\\{}\\[\\]:,é]{0,40}"
                .prop_map(|text| serde_json::Value::from(text).to_string()),
        ];
        leaf.prop_recursive(4, 40, 5, |inner| {
            let name = prop::sample::select(vec!["a", "b", "c d", "0", "é", "q\"", ""]);
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4)
                    .prop_map(|items| format!("[{}]", items.join(","))),
                prop::collection::btree_map(name, inner, 0..5).prop_map(|members| {
                    let members: Vec<String> = members
                        .into_iter()
                        .map(|(name, value)| format!("{}:{value}", serde_json::Value::from(name)))
                        .collect();
                    format!("{{{}}}", members.join(","))
                }),
            ]
        })
    }

    proptest! {
        #[test]
        fn a_glimpse_shows_what_the_document_does(
            json in any_json(),
            paths in prop::collection::vec(
                prop::sample::subsequence(vec!["a", "b", "['c d']", "0", "[0]", "[*]", "é", "['q\"']"], 1..4)
                    .prop_shuffle(),
                1..4
            )
        ) {
            let paths: Vec<String> = paths
                .into_iter()
                .map(|steps| steps.iter().fold("$".to_owned(), |path, step| {
                    if step.starts_with('[') { path + step } else { path + "." + step }
                }))
                .collect();
            let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
            let [whole, projection] = seen(&json, &paths);
            prop_assert_eq!(whole, projection);
        }

        #[test]
        fn no_text_is_too_much(text in ".{0,60}", broken in "[{}\\[\\]\",:a\\\\1]{0,30}") {
            let wanted = ProjectedPaths::new(&[Path::parse("$.a").expect("a path")]);
            for text in [text, broken] {
                if let Some(root) = Projection::default().read(&text, &wanted) {
                    let _ = root.member("a").map(Value::json);
                }
            }
        }
    }
}
