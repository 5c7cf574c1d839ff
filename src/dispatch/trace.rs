//! The trace that a call is part of (W3C Trace Context, and the `CloudEvents` extension for it).

use std::sync::Arc;

/// The lengths of the parts of a parent: version, trace, span and flags, in hexadecimal digits.
const PARTS: [usize; 4] = [2, 32, 16, 2];

/// How many characters a state has at most.
const STATE_MAX: usize = 512;

/// The span of the caller, which spans of members continue. It is passed on as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    parent: Arc<str>,
    state: Option<Arc<str>>,
}

impl Trace {
    /// Reads what a caller has sent. None if it is not valid: that must not fail a request.
    pub fn parse(parent: &str, state: Option<&str>) -> Option<Self> {
        let state = state.filter(|state| {
            !state.is_empty()
                && state.len() <= STATE_MAX
                && !state.contains(|c: char| c.is_control())
        });
        is_parent(parent).then(|| Self {
            parent: parent.into(),
            state: state.map(Into::into),
        })
    }

    pub fn parent(&self) -> &str {
        &self.parent
    }

    pub fn state(&self) -> Option<&str> {
        self.state.as_deref()
    }
}

/// A later version may have more parts; the first four mean the same.
fn is_parent(text: &str) -> bool {
    let mut parts = text.split('-');
    let is_hex = |part: &str| part.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    let is_zero = |part: &str| part.bytes().all(|b| b == b'0');
    let first: Vec<&str> = parts.by_ref().take(PARTS.len()).collect();
    let [version, trace, span, _flags] = first[..] else {
        return false;
    };
    let fit = first.iter().zip(PARTS);
    fit.into_iter()
        .all(|(part, len)| part.len() == len && is_hex(part))
        && version != "ff"
        && (version != "00" || parts.next().is_none())
        && !is_zero(trace)
        && !is_zero(span)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn a_parent_is_valid_or_ignored() {
        for good in [
            GOOD,
            "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what-the-future",
        ] {
            let trace = Trace::parse(good, Some("vendor=1")).expect(good);
            assert_eq!((trace.parent(), trace.state()), (good, Some("vendor=1")));
        }
        for bad in [
            "",
            "00",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473é-00f067aa0ba902b7-01",
        ] {
            assert_eq!(Trace::parse(bad, None), None, "{bad}");
        }
    }

    #[test]
    fn a_bad_state_is_left_out() {
        let long = "x".repeat(STATE_MAX + 1);
        for bad in ["", "a\nb", &long] {
            let trace = Trace::parse(GOOD, Some(bad)).expect("the parent is good");
            assert_eq!(trace.state(), None);
        }
    }
}
