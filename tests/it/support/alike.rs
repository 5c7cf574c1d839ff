//! Answers without what differs from one time to the next.

use serde_json::Value;

/// Members that the server draws, which are no UUIDs.
pub(crate) const DRAWN: &[&str] = &[
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

/// A part of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    /// A UUID.
    Identifier(&'a str),
    /// An instant in UTC.
    Instant(&'a str),
    Other(&'a str),
}

/// The parts of a text, in which identifiers and instants may be anywhere.
pub(crate) fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let (mut begun, mut at) = (0, 0);
    while at < text.len() {
        let rest = &text[at..];
        let found = identifier(rest).map(Piece::Identifier);
        let found = found.or_else(|| instant(rest).map(Piece::Instant));
        let Some(piece) = found else {
            at += rest.chars().next().map_or(1, char::len_utf8);
            continue;
        };
        if begun < at {
            pieces.push(Piece::Other(&text[begun..at]));
        }
        let (Piece::Identifier(part) | Piece::Instant(part) | Piece::Other(part)) = piece;
        at += part.len();
        begun = at;
        pieces.push(piece);
    }
    if begun < text.len() {
        pieces.push(Piece::Other(&text[begun..]));
    }
    pieces
}

fn alike_text(text: &str) -> String {
    let name = |piece: &Piece<'_>| match piece {
        Piece::Identifier(_) => "<uuid>".to_owned(),
        Piece::Instant(_) => "<instant>".to_owned(),
        Piece::Other(text) => (*text).to_owned(),
    };
    pieces(text).iter().map(name).collect()
}

/// The UUID at the beginning of a text.
fn identifier(text: &str) -> Option<&str> {
    let (uuid, _) = text.split_at_checked(36)?;
    let is_one = uuid.as_bytes()[8] == b'-' && uuid::Uuid::try_parse(uuid).is_ok();
    is_one.then_some(uuid)
}

/// The instant at the beginning of a text.
fn instant(text: &str) -> Option<&str> {
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
    let rest = rest.strip_prefix('Z')?;
    Some(&text[..text.len() - rest.len()])
}
