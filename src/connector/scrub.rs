//! Cuts secrets out of what other systems answer: some repeat what they were sent.

use std::{borrow::Cow, sync::Arc};

use aho_corasick::{AhoCorasick, MatchKind};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::{CallFailed, Connector};
use crate::expr::quoted;

/// Shorter secrets are not looked for: cutting out every `1` would damage answers.
const LENGTH_MIN: usize = 6;

const SHOWN: &str = "***";

/// The secrets of one connector, ready to be found.
pub(super) struct Scrub {
    /// Those that the other system is sent.
    in_results: Found,
    /// These, and whatever else is in its configuration by `env()`. A host is such a value, and
    /// cutting it out of results would damage them.
    in_messages: Found,
}

/// Texts that are cut out, in all the forms that they may have.
struct Found(Option<(AhoCorasick, usize)>);

impl std::fmt::Debug for Scrub {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Scrub")
    }
}

impl Scrub {
    pub(super) fn new(connector: &Connector) -> Self {
        let config = &connector.config;
        let secrets = config.secrets().into_iter();
        let mut sent: Vec<String> = secrets.flat_map(|secret| forms(secret.expose())).collect();
        if let Some(pair) = config.pair() {
            sent.push(STANDARD.encode(pair));
        }
        let values = connector.values.iter();
        let values = values.flat_map(|secret| forms(secret.expose()));
        Self {
            in_messages: Found::new(values.chain(sent.iter().cloned()).collect()),
            in_results: Found::new(sent),
        }
    }

    pub(super) fn result(&self, result: Arc<str>) -> Arc<str> {
        self.in_results.cut(result)
    }

    pub(super) fn failure(&self, failure: CallFailed) -> CallFailed {
        match failure {
            CallFailed::Failed { message, output } => CallFailed::Failed {
                message: self.in_messages.text(&message).into_owned(),
                output: output.map(|output| self.in_messages.cut(output)),
            },
            CallFailed::Unavailable { message } => CallFailed::Unavailable {
                message: self.in_messages.text(&message).into_owned(),
            },
            other @ (CallFailed::TimedOut(_) | CallFailed::Cancelled) => other,
        }
    }
}

impl Found {
    fn new(mut texts: Vec<String>) -> Self {
        texts.sort_unstable();
        texts.dedup();
        let count = texts.len();
        // Of two that begin at the same place, the longer one. The patterns are short, so building
        // does not fail.
        let found = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(&texts);
        Self(found.ok().filter(|_| count > 0).map(|found| (found, count)))
    }

    fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match &self.0 {
            Some((secrets, count)) if secrets.is_match(text) => {
                secrets.replace_all(text, &vec![SHOWN; *count]).into()
            }
            Some(_) | None => text.into(),
        }
    }

    fn cut(&self, text: Arc<str>) -> Arc<str> {
        match self.text(&text) {
            Cow::Borrowed(_) => text,
            Cow::Owned(text) => text.into(),
        }
    }
}

/// A secret as it is, and as JSON, URLs, forms and base64 have it.
fn forms(plain: &str) -> Vec<String> {
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
