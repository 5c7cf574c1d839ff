//! The members of one map of a document, each taken by the reader that knows it.

use std::{collections::HashSet, time::Duration};

use crate::dialect::{Findings, Tree};
use crate::text::shortened;

/// The longest duration, a hundred years in milliseconds.
pub(super) const DURATION_MAX: u64 = 100 * 365 * 24 * 60 * 60 * 1_000;

/// How many bytes of a key stand in a path.
const KEY_IN_PATH_MAX: usize = 128;

/// The members of a map that no reader has taken yet.
///
/// A key may be spelt `maxAttempts` or `max_attempts` (1.1); readers ask by the first. What
/// nobody takes is reported by [`Fields::finish`].
pub(super) struct Fields<'t> {
    pub(super) path: String,
    members: Vec<(&'t str, String, Option<&'t Tree>)>,
}

impl<'t> Fields<'t> {
    /// The members of `tree`, which is reported if it is not a map.
    pub(super) fn of(tree: &'t Tree, path: &str, findings: &mut Findings) -> Option<Self> {
        let Tree::Map(members) = tree else {
            wrong_kind(findings, path, "a map", tree);
            return None;
        };
        let members = members
            .iter()
            .map(|(key, value)| (&**key, camel(key), Some(value)));
        Some(Self {
            path: path.to_owned(),
            members: members.collect(),
        })
    }

    /// The path of a member.
    pub(super) fn at(&self, key: &str) -> String {
        join(&self.path, key)
    }

    /// The value of a key, and its path as the document spells it. Of several, the first; the
    /// others are reported. An explicit null is as if the key were absent.
    pub(super) fn take(
        &mut self,
        key: &'static str,
        findings: &mut Findings,
    ) -> Option<(&'t Tree, String)> {
        self.take_any(&[key], findings)
    }

    /// As [`Fields::take`], of a key that has other names as well.
    pub(super) fn take_any(
        &mut self,
        keys: &[&'static str],
        findings: &mut Findings,
    ) -> Option<(&'t Tree, String)> {
        let mut found: Option<(&'t str, &'t Tree)> = None;
        for (given, camel, value) in &mut self.members {
            if !keys.contains(&camel.as_str()) {
                continue;
            }
            let Some(value) = value.take() else { continue };
            match found {
                None => found = Some((given, value)),
                Some((first, _)) if first == *given => {
                    given_twice(given, &join(&self.path, given), findings);
                }
                Some((first, _)) => {
                    let message = format!("\"{first}\" and \"{given}\" are the same key; give one");
                    findings.error("E109", &join(&self.path, given), message);
                }
            }
        }
        let (given, value) = found?;
        (*value != Tree::Null).then(|| (value, join(&self.path, given)))
    }

    /// A text.
    pub(super) fn text(&mut self, key: &'static str, findings: &mut Findings) -> Option<&'t str> {
        let (value, path) = self.take(key, findings)?;
        text(value, &path, findings)
    }

    /// One of some words; an unknown one is reported and the default stands.
    pub(super) fn word<T: Copy>(
        &mut self,
        key: &'static str,
        words: &[(&str, T)],
        findings: &mut Findings,
    ) -> Option<T> {
        let (value, path) = self.take(key, findings)?;
        let given = text(value, &path, findings)?;
        let known = words.iter().find(|(word, _)| *word == given);
        if known.is_none() {
            let words: Vec<_> = words.iter().map(|(word, _)| *word).collect();
            let message = format!("\"{given}\" is not one of {}", words.join(", "));
            findings.error("E109", &path, message);
        }
        known.map(|(_, meaning)| *meaning)
    }

    /// A whole number from 0 to `max`.
    pub(super) fn number(
        &mut self,
        key: &'static str,
        max: u64,
        findings: &mut Findings,
    ) -> Option<u64> {
        let (value, path) = self.take(key, findings)?;
        let number = whole(value, &path, findings)?;
        match u64::try_from(number) {
            Ok(number) if number <= max => Some(number),
            _ => {
                findings.error("E109", &path, format!("{number} is not from 0 to {max}"));
                None
            }
        }
    }

    /// Milliseconds.
    pub(super) fn duration(
        &mut self,
        key: &'static str,
        findings: &mut Findings,
    ) -> Option<Duration> {
        let number = self.number(key, DURATION_MAX, findings)?;
        Some(Duration::from_millis(number))
    }

    /// A number that fits 32 bits.
    pub(super) fn count(&mut self, key: &'static str, findings: &mut Findings) -> Option<u32> {
        let number = self.number(key, u64::from(u32::MAX), findings)?;
        u32::try_from(number).ok()
    }

    pub(super) fn truth(&mut self, key: &'static str, findings: &mut Findings) -> Option<bool> {
        let (value, path) = self.take(key, findings)?;
        if let Tree::Bool(truth) = value {
            return Some(*truth);
        }
        wrong_kind(findings, &path, "true or false", value);
        None
    }

    /// A list of texts.
    pub(super) fn texts(&mut self, key: &'static str, findings: &mut Findings) -> Vec<Box<str>> {
        let Some((value, path)) = self.take(key, findings) else {
            return Vec::new();
        };
        let Tree::List(items) = value else {
            wrong_kind(findings, &path, "a list of strings", value);
            return Vec::new();
        };
        let items = items.iter().enumerate();
        items
            .filter_map(|(at, item)| text(item, &format!("{path}[{at}]"), findings))
            .map(Into::into)
            .collect()
    }

    /// A map inside.
    pub(super) fn fields(&mut self, key: &'static str, findings: &mut Findings) -> Option<Self> {
        let (value, path) = self.take(key, findings)?;
        Self::of(value, &path, findings)
    }

    /// Reports what nobody took.
    pub(super) fn finish(self, findings: &mut Findings) {
        let place = match self.path.as_str() {
            "" => "the top level",
            path => path,
        };
        let mut seen = HashSet::new();
        for (given, _, value) in &self.members {
            let Some(value) = value else { continue };
            let at = join(&self.path, given);
            if !seen.insert(*given) {
                given_twice(given, &at, findings);
                continue;
            }
            let message = format!("unknown key \"{given}\" at {place}");
            findings.warning("E108", &at, message);
            check_free(value, &at, findings);
        }
    }
}

/// The members of a map whose keys the author chooses. A key that is given again is reported
/// under `code` and left out.
pub(super) fn named<'t>(
    tree: &'t Tree,
    path: &str,
    code: &'static str,
    what: &str,
    findings: &mut Findings,
) -> Vec<(&'t str, &'t Tree)> {
    let Tree::Map(members) = tree else {
        wrong_kind(findings, path, "a map", tree);
        return Vec::new();
    };
    let mut seen = HashSet::new();
    let mut named = Vec::with_capacity(members.len());
    for (key, value) in members {
        if seen.insert(&**key) {
            named.push((&**key, value));
        } else {
            findings.error(
                code,
                &join(path, key),
                format!("duplicate {what} \"{key}\""),
            );
        }
    }
    named
}

/// Reports keys that are given twice within a value whose keys have no meaning here.
pub(super) fn check_free(tree: &Tree, path: &str, findings: &mut Findings) {
    match tree {
        Tree::Map(members) => {
            let mut seen = HashSet::new();
            for (key, value) in members {
                let at = join(path, key);
                if !seen.insert(key) {
                    given_twice(key, &at, findings);
                }
                check_free(value, &at, findings);
            }
        }
        Tree::List(items) => {
            for (index, item) in items.iter().enumerate() {
                check_free(item, &format!("{path}[{index}]"), findings);
            }
        }
        Tree::Null | Tree::Bool(_) | Tree::Number(_) | Tree::Text(_) => {}
    }
}

fn given_twice(key: &str, path: &str, findings: &mut Findings) {
    findings.error("E109", path, format!("the key \"{key}\" is given twice"));
}

/// The path of a member. A key is shortened: one of a mebibyte would be copied with every path
/// below it.
pub(super) fn join(path: &str, key: &str) -> String {
    let key = &*shortened(key, KEY_IN_PATH_MAX);
    if path.is_empty() {
        key.to_owned()
    } else {
        format!("{path}.{key}")
    }
}

pub(super) fn text<'t>(value: &'t Tree, path: &str, findings: &mut Findings) -> Option<&'t str> {
    if let Tree::Text(text) = value {
        return Some(text);
    }
    wrong_kind(findings, path, "a string", value);
    None
}

/// A whole number, however it is written.
pub(super) fn whole(value: &Tree, path: &str, findings: &mut Findings) -> Option<i128> {
    let is_number = matches!(value, Tree::Number(_));
    let number = is_number.then(|| value.to_json().parse().ok()).flatten();
    if number.is_none() {
        wrong_kind(findings, path, "a whole number", value);
    }
    number
}

pub(super) fn wrong_kind(findings: &mut Findings, path: &str, wanted: &str, value: &Tree) {
    let found = if let Tree::Number(written) = value {
        written
    } else {
        value.kind()
    };
    let message = format!("expected {wanted}, found {found}");
    findings.error("E109", path, message);
}

/// `max_attempts` as `maxAttempts`.
fn camel(key: &str) -> String {
    let mut camel = String::with_capacity(key.len());
    let mut upper = false;
    for character in key.chars() {
        if character == '_' && !camel.is_empty() {
            upper = true;
        } else if upper {
            camel.extend(character.to_uppercase());
            upper = false;
        } else {
            camel.push(character);
        }
    }
    camel
}
