//! Says where in a payload a value is that could not be read.

use serde_json::error::Category;

use crate::entity::{dotted, steps_to};

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

/// An error with the path of the value that it is about, if it does not name a member itself.
pub(super) fn placed(text: &str, error: &serde_json::Error) -> String {
    let message = error.to_string();
    let names_it = ["missing field", "duplicate field", "unknown field"];
    if error.classify() != Category::Data || names_it.iter().any(|own| message.starts_with(own)) {
        return message;
    }
    let message = plain(message);
    match dotted(&steps_to(text, error)) {
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
}
