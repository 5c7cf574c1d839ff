//! Says where in a payload a value is that could not be read.

use std::fmt::Write as _;

use serde_json::error::Category;

use crate::entity::skip_string;

/// What Rust's names of numbers mean to a reader.
const NUMBERS: [(&str, &str); 7] = [
    ("u8", "an integer from 0 to 255"),
    ("u16", "an integer from 0 to 65535"),
    ("u32", "an integer of 0 or more"),
    ("u64", "an integer of 0 or more"),
    ("usize", "an integer of 0 or more"),
    ("i32", "an integer"),
    ("i64", "an integer"),
];

/// An object or a list that is open.
enum Open {
    Object {
        key: Option<(usize, usize)>,
        is_key_next: bool,
    },
    List(Option<usize>),
}

/// An error with the path of the value that it is about, if it does not name a member itself.
pub(super) fn placed(text: &str, error: &serde_json::Error) -> String {
    let message = error.to_string();
    let names_it = ["missing field", "duplicate field", "unknown field"];
    if error.classify() != Category::Data || names_it.iter().any(|own| message.starts_with(own)) {
        return message;
    }
    let message = plain(message);
    match path_at(text, offset(text, error.line(), error.column())) {
        path if path.is_empty() => message,
        path => format!("`{path}`: {message}"),
    }
}

/// A message without the names of Rust's types.
fn plain(message: String) -> String {
    let (what, place) = message.split_once(" at line ").unwrap_or((&message, ""));
    for (name, meaning) in NUMBERS {
        if let Some(before) = what
            .strip_suffix(name)
            .filter(|text| text.ends_with("expected "))
        {
            return format!("{before}{meaning} at line {place}");
        }
    }
    message
}

/// How many bytes stand before that place.
fn offset(text: &str, line: usize, column: usize) -> usize {
    let lines = text.split_inclusive('\n').take(line.saturating_sub(1));
    lines.map(str::len).sum::<usize>() + column
}

/// The path of the value that so many bytes of a JSON text lead into.
fn path_at(text: &str, end: usize) -> String {
    let bytes = &text.as_bytes()[..end.min(text.len())];
    let mut open: Vec<Open> = Vec::new();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        if !b",]} \n\r\t".contains(byte)
            && let Some(Open::List(index @ None)) = open.last_mut()
        {
            *index = Some(0);
        }
        match byte {
            b'{' => open.push(Open::Object {
                key: None,
                is_key_next: true,
            }),
            b'[' => open.push(Open::List(None)),
            b'}' | b']' => {
                open.pop();
            }
            b',' => match open.last_mut() {
                Some(Open::Object { is_key_next, .. }) => *is_key_next = true,
                Some(Open::List(index)) => *index = index.map(|index| index + 1),
                None => {}
            },
            b'"' => {
                let begin = at + 1;
                let past = skip_string(bytes, at);
                at = past.map_or(bytes.len(), |(past, _)| past - 1);
                if let Some(Open::Object { key, is_key_next }) = open.last_mut()
                    && *is_key_next
                {
                    (*key, *is_key_next) = (Some((begin, at)), false);
                }
            }
            _ => {}
        }
        at += 1;
    }
    let mut path = String::new();
    for level in open {
        match level {
            Open::Object {
                key: Some((from, to)),
                ..
            } => {
                let dot = if path.is_empty() { "" } else { "." };
                let _ = write!(path, "{dot}{}", text.get(from..to).unwrap_or_default());
            }
            Open::List(Some(index)) => {
                let _ = write!(path, "[{index}]");
            }
            Open::Object { key: None, .. } | Open::List(None) => {}
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "camelCase")]
    #[expect(dead_code, reason = "only read")]
    struct Action {
        name: String,
        timeout_ms: Option<i64>,
        #[serde(default)]
        tags: Vec<String>,
        retry: Option<Retry>,
    }

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only read")]
    struct Retry {
        attempts: u32,
    }

    #[test]
    fn an_error_names_the_member() {
        for (text, expected) in [
            (
                r#"{"name":"a","timeoutMs":"x"}"#,
                "`timeoutMs`: invalid type: string \"x\", expected an integer at line 1 column 27",
            ),
            (
                r#"{"name":5}"#,
                "`name`: invalid type: integer `5`, expected a string at line 1 column 9",
            ),
            (
                "{\"name\":\"a,\\\"b\",\n \"tags\":[\"{\", 7]}",
                "`tags[1]`: invalid type: integer `7`, expected a string at line 2 column 15",
            ),
            (
                r#"{"name":"a","tags":[],"retry":{"attempts":-1}}"#,
                "`retry.attempts`: invalid value: integer `-1`, expected an integer of 0 or more at line 1 column 44",
            ),
            (r#"{"tags":[]}"#, "missing field `name` at line 1 column 11"),
        ] {
            let error = serde_json::from_str::<Action>(text).expect_err(text);
            assert_eq!(placed(text, &error), expected);
        }
    }

    #[test]
    fn any_text_and_any_place_has_a_path() {
        for text in [
            "",
            "{",
            "[1,[2,",
            "{\"é\\",
            "{\"a\":{\"b\":[{},{\"c\":\"é",
            "]}",
            "\"\\\"",
        ] {
            for end in 0..=text.len() + 2 {
                let _ = path_at(text, end);
            }
        }
    }
}
