//! Cuts secrets out of what other systems answer: some repeat what they were sent.

use std::{borrow::Cow, sync::Arc};

use aho_corasick::{AhoCorasick, MatchKind};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::{CallFailed, Connector, Secret};
use crate::entity::skip_string;
use crate::expr::{quoted, string};

/// Shorter secrets are not looked for: cutting out every `1` would damage answers.
const LENGTH_MIN: usize = 6;

/// Of shorter ones, those from this length on are cut out where nothing else is meant: as whole
/// texts, and behind these schemes.
const SHORT_LENGTH_MIN: usize = 4;
const SCHEMES: [&str; 2] = ["Bearer ", "Basic "];

const SHOWN: &str = "***";

/// The secrets of one connector, ready to be found.
pub(super) struct Scrub {
    /// Those that the other system is sent.
    in_results: Found,
    /// These, and whatever else is in its configuration by `env()`. A host is such a value, and
    /// cutting it out of results would damage them.
    in_messages: Found,
}

/// Texts that are cut out.
struct Found {
    /// In all the forms that they may have.
    parts: Option<(AhoCorasick, usize)>,
    /// Only as whole texts of JSON.
    whole: Vec<String>,
}

impl std::fmt::Debug for Scrub {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Scrub")
    }
}

impl Scrub {
    pub(super) fn new(connector: &Connector) -> Self {
        let config = &connector.config;
        let secrets = config.secrets(&connector.values).into_iter();
        let secrets: Vec<&str> = secrets.map(Secret::expose).collect();
        let mut sent: Vec<String> = secrets.iter().flat_map(|secret| forms(secret)).collect();
        let short = secrets.iter().filter(|secret| is_short(secret));
        let short: Vec<String> = short.map(|secret| (*secret).to_owned()).collect();
        if let Some(pair) = config.pair() {
            let encoded = STANDARD.encode(pair);
            sent.push(encoded.trim_end_matches('=').to_owned());
            sent.push(encoded);
        }
        let values = connector.values.iter();
        let values = values.flat_map(|secret| forms(secret.expose()));
        Self {
            in_messages: Found::new(values.chain(sent.iter().cloned()).collect(), short.clone()),
            in_results: Found::new(sent, short),
        }
    }

    pub(super) fn result(&self, result: Arc<str>) -> Arc<str> {
        self.in_results.json(result)
    }

    pub(super) fn failure(&self, failure: CallFailed) -> CallFailed {
        match failure {
            CallFailed::Failed { message, output } => CallFailed::Failed {
                message: self.in_messages.text(&message).into_owned(),
                output: output.map(|output| self.in_messages.json(output)),
            },
            CallFailed::Unavailable { message } => CallFailed::Unavailable {
                message: self.in_messages.text(&message).into_owned(),
            },
            CallFailed::Unusable { message } => CallFailed::Unusable {
                message: self.in_messages.text(&message).into_owned(),
            },
            CallFailed::Lost { message } => CallFailed::Lost {
                message: self.in_messages.text(&message).into_owned(),
            },
            other @ (CallFailed::TimedOut(_)
            | CallFailed::NothingDone(_)
            | CallFailed::Cancelled
            | CallFailed::NotSent) => other,
        }
    }
}

impl Found {
    fn new(mut texts: Vec<String>, whole: Vec<String>) -> Self {
        texts.sort_unstable();
        texts.dedup();
        let count = texts.len();
        // Of two that begin at the same place, the longer one. The patterns are short, so building
        // does not fail.
        let found = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(&texts);
        let parts = found.ok().filter(|_| count > 0);
        Self {
            parts: parts.map(|found| (found, count)),
            whole,
        }
    }

    fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match &self.parts {
            Some((secrets, count)) if secrets.is_match(text) => {
                secrets.replace_all(text, &vec![SHOWN; *count]).into()
            }
            Some(_) | None => text.into(),
        }
    }

    /// A text or number in JSON without secrets. A number that has one becomes a text, and texts are
    /// looked at without their escapes, which must not be cut apart. A name of a member is never a
    /// secret as a whole.
    fn value<'a>(&self, piece: &'a str, is_name: bool) -> Cow<'a, str> {
        let plain = match piece.strip_prefix('"') {
            Some(rest) if !piece.contains('\\') => rest.strip_suffix('"').map(Cow::Borrowed),
            Some(_) => string(piece).map(Cow::Owned),
            None => None,
        };
        let is_whole = |plain: &Cow<'_, str>| self.whole.iter().any(|whole| whole == plain);
        if !is_name && plain.as_ref().is_some_and(is_whole) {
            return quoted(SHOWN).into();
        }
        match (self.text(plain.as_deref().unwrap_or(piece)), &plain) {
            (Cow::Borrowed(_), _) => piece.into(),
            (Cow::Owned(cut), Some(_)) => quoted(&cut).into(),
            (Cow::Owned(_), None) => quoted(SHOWN).into(),
        }
    }

    /// Cuts secrets out of JSON, which stays JSON.
    fn json(&self, text: Arc<str>) -> Arc<str> {
        // Each that is cut out as a whole is a part behind a scheme.
        if self.parts.is_none() {
            return text;
        }
        let bytes = text.as_bytes();
        let (mut cut, mut at) = (String::with_capacity(text.len()), 0);
        while let Some(next) = bytes.get(at) {
            let end = match next {
                b'"' => skip_string(bytes, at).map_or(bytes.len(), |(end, _)| end),
                b'-' | b'0'..=b'9' => {
                    let number = bytes[at..].iter().take_while(|byte| is_of_number(**byte));
                    at + number.count()
                }
                _ => {
                    let others = bytes[at..].iter().take_while(|byte| !begins_value(**byte));
                    let end = at + others.count();
                    cut.push_str(&text[at..end]);
                    at = end;
                    continue;
                }
            };
            let piece = &text[at..end];
            let is_name = text[end..].trim_start().starts_with(':');
            cut.push_str(&self.value(piece, is_name));
            at = end;
        }
        if *cut == *text { text } else { cut.into() }
    }
}

const fn begins_value(byte: u8) -> bool {
    matches!(byte, b'"' | b'-' | b'0'..=b'9')
}

const fn is_of_number(byte: u8) -> bool {
    matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9')
}

fn is_short(plain: &str) -> bool {
    (SHORT_LENGTH_MIN..LENGTH_MIN).contains(&plain.len())
}

/// A secret as it is, and as JSON, URLs, forms and base64 have it.
fn forms(plain: &str) -> Vec<String> {
    if is_short(plain) {
        return SCHEMES.map(|scheme| format!("{scheme}{plain}")).into();
    }
    if plain.len() < LENGTH_MIN {
        return Vec::new();
    }
    let written = quoted(plain);
    let written = written[1..written.len() - 1].to_owned();
    vec![
        plain.to_owned(),
        // Some write slashes with a backslash.
        written.replace('/', "\\/"),
        written,
        utf8_percent_encode(plain, NON_ALPHANUMERIC).to_string(),
        form_urlencoded::byte_serialize(plain.as_bytes()).collect(),
        STANDARD.encode(plain),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_without_its_secrets_is_still_json() {
        let texts = ["1234567", "hidden", "nabcdef"].map(str::to_owned);
        let found = Found::new(texts.into(), Vec::new());
        for (text, expected) in [
            (r#"{"a":1234567}"#, r#"{"a":"***"}"#),
            (r#"[-91234567.0e3, 12,"hidden"]"#, r#"["***", 12,"***"]"#),
            (r#"{"hidden":"a\"1234567b"}"#, r#"{"***":"a\"***b"}"#),
            ("1234567", r#""***""#),
            (r#"{"a":123}"#, r#"{"a":123}"#),
            (r#"{"a":"x\nabcdef"}"#, r#"{"a":"x\nabcdef"}"#),
            (r#"{"a":"hidd\u0065n"}"#, r#"{"a":"***"}"#),
        ] {
            let cut = found.json(text.into());
            assert_eq!(&*cut, expected);
            serde_json::from_str::<serde_json::Value>(&cut).expect("JSON");
        }
    }

    #[test]
    fn a_short_secret_is_cut_out_where_nothing_else_is_meant() {
        let found = Found::new(forms("12345"), vec!["12345".to_owned()]);
        for (text, expected) in [
            (
                r#"{"t":"12345","auth":"Bearer 12345"}"#,
                r#"{"t":"***","auth":"***"}"#,
            ),
            (r#"["1234\u0035"]"#, r#"["***"]"#),
            (
                r#"{"12345" : 12345,"a":"x12345"}"#,
                r#"{"12345" : 12345,"a":"x12345"}"#,
            ),
        ] {
            assert_eq!(&*found.json(text.into()), expected);
        }
        assert_eq!(found.text("not Basic 12345"), "not ***");
        assert!(forms("123").is_empty());
    }
}
