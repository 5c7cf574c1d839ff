//! What the tests of rules have in common.
#![cfg(test)]

use super::driven::{Do, Driven, flow};
use crate::program::Status;

/// Plays a script and compares the events after the first, and the status.
pub(super) fn check(
    what: &str,
    document: &str,
    script: &[Do],
    status: Status,
    events: &[&str],
) -> Driven {
    let mut driven = Driven::new(document, "{\"n\":1}");
    driven.play(script);
    assert_eq!(driven.events(), events, "{what}\n{document}");
    assert_eq!(driven.run.status, status, "{what}");
    driven
}

pub(super) fn step(transitions: &str, more: &str) -> String {
    flow(
        &format!("{{run: \"@actions/a\", transitions: {{{transitions}}}{more}}}"),
        "",
    )
}
