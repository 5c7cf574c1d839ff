//! Cuts secrets out of what other systems answer: some repeat what they were sent.

use std::{borrow::Cow, sync::Arc};

use aho_corasick::AhoCorasick;

use super::{CallFailed, Config};
use crate::expr::quoted;

/// Shorter secrets are not looked for: cutting out every `1` would damage answers.
const LENGTH_MIN: usize = 6;

const SHOWN: &str = "***";

/// The secrets of one connector, ready to be found.
pub(super) struct Scrub(Option<(AhoCorasick, usize)>);

impl std::fmt::Debug for Scrub {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Scrub")
    }
}

impl Scrub {
    pub(super) fn new(config: &Config) -> Self {
        let mut texts = Vec::new();
        for secret in config.secrets() {
            let plain = secret.expose();
            if plain.len() < LENGTH_MIN {
                continue;
            }
            texts.push(plain.to_owned());
            // As a JSON text has it.
            let written = quoted(plain);
            texts.push(written[1..written.len() - 1].to_owned());
        }
        texts.sort_unstable();
        texts.dedup();
        let count = texts.len();
        // The patterns are short, so building does not fail.
        let found = AhoCorasick::new(&texts).ok().filter(|_| count > 0);
        Self(found.map(|found| (found, count)))
    }

    fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match &self.0 {
            Some((secrets, count)) if secrets.is_match(text) => {
                secrets.replace_all(text, &vec![SHOWN; *count]).into()
            }
            Some(_) | None => text.into(),
        }
    }

    pub(super) fn result(&self, result: Arc<str>) -> Arc<str> {
        match self.text(&result) {
            Cow::Borrowed(_) => result,
            Cow::Owned(text) => text.into(),
        }
    }

    pub(super) fn failure(&self, failure: CallFailed) -> CallFailed {
        match failure {
            CallFailed::Failed { message, output } => CallFailed::Failed {
                message: self.text(&message).into_owned(),
                output: output.map(|output| self.result(output)),
            },
            CallFailed::Unavailable { message } => CallFailed::Unavailable {
                message: self.text(&message).into_owned(),
            },
            other @ (CallFailed::TimedOut(_) | CallFailed::Cancelled) => other,
        }
    }
}
