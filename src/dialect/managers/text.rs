//! JSON text that is edited in place: what is not changed stays as it was written, white space,
//! digits and unknown members included.

use std::{collections::HashSet, fmt, ops::Range};

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::value::RawValue;

/// A part of a text.
pub(super) type Span = Range<usize>;

/// An object, and where its members are.
#[derive(Debug, Clone)]
pub(super) struct Object {
    span: Span,
    /// The names and where the values are, in their order.
    members: Vec<(String, Span)>,
}

/// The members of an object in their order.
struct OrderedMembers<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for OrderedMembers<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reading;

        impl<'de> Visitor<'de> for Reading {
            type Value = OrderedMembers<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(
                self,
                mut map: A,
            ) -> Result<OrderedMembers<'de>, A::Error> {
                let mut members: Vec<(String, &'de RawValue)> = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                let mut seen = HashSet::with_capacity(members.len());
                let mut names = members.iter().map(|(name, _)| name.as_str());
                if let Some(name) = names.find(|name| !seen.insert(*name)) {
                    let message = format!("the member `{name}` is given twice");
                    return Err(serde::de::Error::custom(message));
                }
                Ok(OrderedMembers(members))
            }
        }

        deserializer.deserialize_map(Reading)
    }
}

/// Where a value is that was read from a part of the text that begins there.
fn span_of(part: &str, begin: usize, value: &RawValue) -> Span {
    let within = value.get().as_ptr().addr() - part.as_ptr().addr();
    let start = begin + within;
    start..start + value.get().len()
}

impl Object {
    /// Reads the whole text.
    pub(super) fn of_text(text: &str) -> Result<Self, String> {
        let open = text.len() - text.trim_start().len();
        let close = text.trim_end().len();
        Self::read(text, open..close)
    }

    /// Reads a part of a text that is JSON.
    pub(super) fn read(text: &str, span: Span) -> Result<Self, String> {
        let part = text.get(span.clone()).unwrap_or_default();
        let members: OrderedMembers<'_> =
            serde_json::from_str(part).map_err(|error| error.to_string())?;
        let members = members.0.into_iter();
        let members = members.map(|(name, value)| (name, span_of(part, span.start, value)));
        Ok(Self {
            members: members.collect(),
            span,
        })
    }

    pub(super) fn member(&self, name: &str) -> Option<Span> {
        let mut members = self.members.iter();
        let (_, span) = members.find(|(known, _)| known == name)?;
        Some(span.clone())
    }

    /// The text of a member.
    pub(super) fn raw<'t>(&self, text: &'t str, name: &str) -> Option<&'t str> {
        text.get(self.member(name)?)
    }

    /// A member that is a text; an error if it is something else.
    pub(super) fn text(&self, text: &str, name: &str) -> Result<Option<String>, ()> {
        match self.raw(text, name) {
            None | Some("null") => Ok(None),
            Some(raw) => serde_json::from_str(raw).map(Some).map_err(|_| ()),
        }
    }

    pub(super) fn members(&self) -> impl Iterator<Item = (&str, Span)> {
        self.members
            .iter()
            .map(|(name, span)| (name.as_str(), span.clone()))
    }
}

/// A member of an object that is a text.
pub fn text_of(text: &str, name: &str) -> Option<String> {
    Object::of_text(text).ok()?.text(text, name).ok()?
}

/// The elements of a list that is a part of a text; none if it is not a list.
pub(super) fn list(text: &str, span: &Span) -> Option<Vec<Span>> {
    let part = text.get(span.clone())?;
    let items: Vec<&RawValue> = serde_json::from_str(part).ok()?;
    let items = items.into_iter();
    Some(items.map(|item| span_of(part, span.start, item)).collect())
}

/// Changes of a text.
#[derive(Debug, Default)]
pub(super) struct Edits(Vec<(Span, String)>);

impl Edits {
    /// Sets members of an object. One that is not there is added at the end, in the style of the
    /// others.
    pub(super) fn set(&mut self, text: &str, object: &Object, changed: &[(&str, String)]) {
        let mut is_empty = object.members.is_empty();
        let end = match object.members.last() {
            Some((_, span)) => span.end,
            None => object.span.start + 1,
        };
        let (before, between) = style(text, object);
        for (name, json) in changed {
            match object.member(name) {
                Some(span) if text.get(span.clone()) == Some(json) => {}
                Some(span) => self.0.push((span, json.clone())),
                None => {
                    let comma = if is_empty { "" } else { "," };
                    is_empty = false;
                    let name = serde_json::Value::from(*name);
                    let member = format!("{comma}{before}{name}{between}{json}");
                    self.0.push((end..end, member));
                }
            }
        }
    }

    /// The text with the changes; none if there are none.
    pub(super) fn apply(mut self, text: &str) -> Option<String> {
        if self.0.is_empty() {
            return None;
        }
        // What is added at one place stays in its order.
        self.0.sort_by_key(|(span, _)| (span.start, span.end));
        let mut edited = String::with_capacity(text.len() + 256);
        let mut at = 0;
        for (span, json) in self.0 {
            edited.push_str(text.get(at..span.start).unwrap_or_default());
            edited.push_str(&json);
            at = span.end;
        }
        edited.push_str(text.get(at..).unwrap_or_default());
        Some(edited)
    }
}

/// What stands before the name of a member, and between it and its value.
fn style<'t>(text: &'t str, object: &Object) -> (&'t str, &'t str) {
    // The last member is the one that others follow.
    let mut ends = object.members.iter().rev().map(|(_, span)| span);
    let Some(last) = ends.next() else {
        return ("", ": ");
    };
    let begin = ends.next().map_or(object.span.start, |span| span.end);
    let gap = text.get(begin..last.start).unwrap_or_default();
    let name = gap.find('"').and_then(|open| Some((open, gap.rfind('"')?)));
    let Some((open, close)) = name else {
        return ("", ": ");
    };
    let before = &gap[..open];
    let before = match before.rfind([',', '{']) {
        Some(mark) => &before[mark + 1..],
        None => before,
    };
    (before, &gap[close + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(text: &str, changed: &[(&str, &str)]) -> Option<String> {
        let object = Object::of_text(text).expect("an object");
        let changed: Vec<_> = changed
            .iter()
            .map(|(name, json)| (*name, (*json).to_owned()))
            .collect();
        let mut edits = Edits::default();
        edits.set(text, &object, &changed);
        edits.apply(text)
    }

    #[test]
    fn members_are_set_and_all_else_stays_as_it_was_written() {
        for (before, changed, after) in [
            ("{}", &[("a", "1")][..], "{\"a\": 1}"),
            ("{ }", &[("a", "1"), ("b", "2")], "{\"a\": 1,\"b\": 2 }"),
            ("{\"a\":1}", &[("b", "2")], "{\"a\":1,\"b\":2}"),
            (
                " {\"a\": 1.50, \"x\": [ 1e2 ]}\n",
                &[("a", "2"), ("b", "3")],
                " {\"a\": 2, \"x\": [ 1e2 ], \"b\": 3}\n",
            ),
            (
                "{\n  \"a\": 1,\n  \"b\\n\": {\"c\": \"}\"}\n}",
                &[("z", "2")],
                "{\n  \"a\": 1,\n  \"b\\n\": {\"c\": \"}\"},\n  \"z\": 2\n}",
            ),
        ] {
            assert_eq!(set(before, changed).as_deref(), Some(after), "{before}");
        }
        assert_eq!(set("{\"a\": 1.0}", &[("a", "1.0")]), None);
    }

    #[test]
    fn nested_values_are_found_where_they_are() {
        let text = "{\"w\": [ {\"s\": \"a\"} , {\"s\":\"b\"}], \"s\": \"c\"}";
        let object = Object::of_text(text).expect("an object");
        let items = list(text, &object.member("w").expect("a member")).expect("a list");
        let mut edits = Edits::default();
        for (at, span) in items.into_iter().enumerate() {
            let item = Object::read(text, span).expect("an object");
            edits.set(text, &item, &[("s", at.to_string())]);
        }
        edits.set(text, &object, &[("s", "2".to_owned())]);
        assert_eq!(
            edits.apply(text).as_deref(),
            Some("{\"w\": [ {\"s\": 0} , {\"s\":1}], \"s\": 2}")
        );
        assert!(Object::of_text("{\"a\":1,\"a\":2}").is_err());
        assert!(list("{}", &(0..2)).is_none());
    }
}
