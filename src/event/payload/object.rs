//! Writing JSON around text that is JSON already.

use std::fmt::{self, Write as _};

/// An object that is being written.
#[derive(Debug)]
pub struct Object(String);

/// Most objects and lists are smaller than this, and need not grow.
const USUAL_BYTES: usize = 256;

impl Default for Object {
    fn default() -> Self {
        Self::new()
    }
}

impl Object {
    pub fn new() -> Self {
        Self::with_room(0)
    }

    /// An object with room for so many bytes beside what is usual.
    pub fn with_room(bytes: usize) -> Self {
        let mut text = String::with_capacity(USUAL_BYTES + bytes);
        text.push('{');
        Self(text)
    }

    fn name(&mut self, name: &str) {
        if !self.0.ends_with('{') {
            self.0.push(',');
        }
        self.0.push('"');
        self.0.push_str(name);
        self.0.push_str("\":");
    }

    /// A member that is a text.
    #[must_use]
    pub fn text(mut self, name: &str, value: &str) -> Self {
        self.name(name);
        push_text(&mut self.0, value);
        self
    }

    /// A member that is a text in which nothing needs to be escaped: an identifier, a time.
    #[must_use]
    pub fn plain(mut self, name: &str, value: impl fmt::Display) -> Self {
        self.name(name);
        let _ = write!(self.0, "\"{value}\"");
        self
    }

    /// A member that is a list of such texts.
    #[must_use]
    pub fn plain_list<T: fmt::Display>(
        mut self,
        name: &str,
        values: impl IntoIterator<Item = T>,
    ) -> Self {
        self.name(name);
        self.0.push('[');
        for value in values {
            if !self.0.ends_with('[') {
                self.0.push(',');
            }
            let _ = write!(self.0, "\"{value}\"");
        }
        self.0.push(']');
        self
    }

    /// A member that is an object.
    #[must_use]
    pub fn object(mut self, name: &str, members: impl FnOnce(Self) -> Self) -> Self {
        self.name(name);
        self.0.push('{');
        let mut object = members(self);
        object.0.push('}');
        object
    }

    /// A member that is JSON already.
    #[must_use]
    pub fn raw(mut self, name: &str, json: &str) -> Self {
        self.name(name);
        self.0.push_str(json);
        self
    }

    #[must_use]
    pub fn number(mut self, name: &str, value: impl Into<i64>) -> Self {
        self.name(name);
        let _ = write!(self.0, "{}", value.into());
        self
    }

    #[must_use]
    pub fn truth(self, name: &str, value: bool) -> Self {
        self.raw(name, if value { "true" } else { "false" })
    }

    pub fn finish(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

/// A list of what is JSON already.
pub fn list<T: AsRef<str>>(items: impl IntoIterator<Item = T>) -> String {
    let mut list = String::with_capacity(USUAL_BYTES);
    list.push('[');
    for item in items {
        if list.len() > 1 {
            list.push(',');
        }
        list.push_str(item.as_ref());
    }
    list.push(']');
    list
}

/// A list of texts.
pub fn text_list<T: AsRef<str>>(items: impl IntoIterator<Item = T>) -> String {
    list(items.into_iter().map(|item| {
        let mut text = String::new();
        push_text(&mut text, item.as_ref());
        text
    }))
}

fn push_text(json: &mut String, text: &str) {
    let needs_escape = |byte: u8| byte < 0x20 || byte == b'"' || byte == b'\\';
    if text.bytes().any(needs_escape) {
        json.push_str(&serde_json::Value::from(text).to_string());
    } else {
        json.push('"');
        json.push_str(text);
        json.push('"');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_json() {
        let written = Object::new()
            .text("a", "plain")
            .text("b", "\"quoted\"\n\u{0}")
            .raw("c", "[1.50]")
            .object("o", |object| object)
            .object("p", |object| object.plain("q", 7).truth("r", true))
            .number("d", -3)
            .truth("e", false)
            .raw("f", &text_list(["x", "é\\"]))
            .plain_list("g", [1, 2])
            .plain_list::<u8>("h", [])
            .finish();
        assert_eq!(
            written,
            r#"{"a":"plain","b":"\"quoted\"\n\u0000","c":[1.50],"o":{},"p":{"q":"7","r":true},"d":-3,"e":false,"f":["x","é\\"],"g":["1","2"],"h":[]}"#
        );
        assert!(serde_json::from_str::<serde_json::Value>(&written).is_ok());
        assert_eq!(
            (Object::new().finish().as_str(), list::<&str>([]).as_str()),
            ("{}", "[]")
        );
    }
}
