//! Answers without what differs from one time to the next.

use serde_json::Value;

/// Members that the server draws, which are no UUIDs.
const DRAWN: &[&str] = &[
    "clientId",
    "clientSecret",
    "client_id",
    "client_secret",
    "keyId",
    "publicKey",
];

/// The same with every identifier and instant made the same.
pub(crate) fn alike(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(alike_text(text)),
        Value::Array(items) => items.iter().map(alike).collect(),
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| {
                let is_drawn = DRAWN.contains(&name.as_str()) && value.is_string();
                let value = if is_drawn {
                    "<drawn>".into()
                } else {
                    alike(value)
                };
                (name.clone(), value)
            })
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// The same of a text in which they may be anywhere.
fn alike_text(text: &str) -> String {
    let mut alike = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if let Some((after, name)) = identifier(rest).or_else(|| instant(rest)) {
            alike.push_str(name);
            rest = after;
        } else {
            alike.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    alike
}

/// What follows the UUID at the beginning of a text.
fn identifier(text: &str) -> Option<(&str, &'static str)> {
    let (uuid, rest) = text.split_at_checked(36)?;
    let is_one = uuid.as_bytes()[8] == b'-' && uuid::Uuid::try_parse(uuid).is_ok();
    is_one.then_some((rest, "<uuid>"))
}

/// What follows the instant at the beginning of a text.
fn instant(text: &str) -> Option<(&str, &'static str)> {
    const SHAPE: &[u8] = b"0000-00-00T00:00:00";
    let (start, rest) = text.split_at_checked(SHAPE.len())?;
    let fits = |(given, shape): (u8, &u8)| match shape {
        b'0' => given.is_ascii_digit(),
        other => given == *other,
    };
    if !start.bytes().zip(SHAPE).all(fits) {
        return None;
    }
    let fraction = rest.strip_prefix('.').unwrap_or(rest);
    let rest = fraction.trim_start_matches(|digit: char| digit.is_ascii_digit());
    Some((rest.strip_prefix('Z')?, "<instant>"))
}
