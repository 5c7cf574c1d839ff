//! Refused token requests, as the log and the metrics report them.
//!
//! The metric counts all of them. The log has a few lines in a minute at most, so that nobody can
//! fill it. It names a client only if there is one: what was sent as an id may be a secret.

use tracing::warn;

use super::{token::Refusal, turns::Peer};
use crate::telemetry::{LimitedLines, measure};

/// Reports refused token requests.
#[derive(Debug, Default)]
pub(super) struct RefusedRequests {
    lines: LimitedLines,
}

impl Refusal {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "invalid_client",
            Self::TooMany => "too_many_failures",
            Self::Busy => "busy",
            Self::Untrusted => "untrusted_token",
            Self::OtherTenant => "other_tenant",
        }
    }
}

impl RefusedRequests {
    /// Reports a refusal; `client` is the client that was named, if it is known.
    pub(super) fn report(&self, client: Option<&str>, peer: Peer, refusal: Refusal) {
        let reason = refusal.as_str();
        measure::token_refused(reason);
        let Some(skipped) = self.lines.next() else {
            return;
        };
        warn!(
            client.id = client,
            %peer,
            reason,
            skipped,
            "a token request was refused"
        );
    }
}
