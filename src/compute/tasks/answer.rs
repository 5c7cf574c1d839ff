//! What an answer to a task means (`runs.md` §5.2).

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{json, value::RawValue};

use crate::compute::MEMBER_STOPPING;
use crate::entity::{DEPTH_MAX, is_too_deep, is_unicode};
use crate::program::Answer;

/// How long the name of an outcome may be, in bytes.
const OUTCOME_MAX: usize = 128;

/// Outcomes that only the engine gives, beside those that begin with an underscore.
const OF_THE_ENGINE: [&str; 3] = ["execution_failure", "target_not_found", "target_disabled"];

/// The outcome of a task that was accepted, and whose end is reported later.
pub(super) const PENDING: &str = "pending";

/// The outcome of an answer that names none.
const SUCCESS: &str = "success";

/// The code of an answer that cannot count as one.
const UNREADABLE: &str = "BAD_REQUEST";

/// The output of an answer that has none.
const EMPTY: &str = "{}";

/// An answer to a task, of any form.
#[derive(Debug, Clone, Default)]
pub struct Answered<'a> {
    /// Whether it failed.
    pub failed: bool,
    pub outcome: Option<&'a str>,
    /// JSON.
    pub output: Option<&'a str>,
    pub code: Option<&'a str>,
    pub message: Option<&'a str>,
    pub retryable: bool,
}

/// What an answer means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Outcome {
        outcome: Box<str>,
        output: Arc<str>,
    },
    Failed {
        output: Arc<str>,
        /// Whether another delivery may help.
        retryable: bool,
    },
    /// It cannot count as an answer.
    Invalid {
        message: Box<str>,
    },
}

impl Verdict {
    /// Whether another delivery may help.
    pub const fn is_retryable(&self) -> bool {
        matches!(
            self,
            Self::Failed {
                retryable: true,
                ..
            }
        )
    }

    /// Whether what the member wrote with its token is kept.
    pub const fn keeps_writes(&self) -> bool {
        matches!(self, Self::Outcome { .. })
    }

    /// That an answer could not be read.
    pub fn unreadable(message: &str) -> Self {
        Self::Invalid {
            message: message.into(),
        }
    }
}

impl From<Verdict> for Answer {
    /// The end of a task that is not delivered again.
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Outcome { outcome, output } => Self::Outcome { outcome, output },
            Verdict::Failed { output, .. } => failure(output),
            Verdict::Invalid { message } => by_engine(UNREADABLE, &message),
        }
    }
}

impl Answered<'_> {
    /// Whether the task is to be delivered again.
    pub(super) const fn asks_again(&self) -> bool {
        self.failed && self.retryable
    }

    /// Whether the member has not begun the task, because it is about to leave.
    pub(super) fn is_declined(&self) -> bool {
        self.failed && self.code == Some(MEMBER_STOPPING)
    }

    /// What it means for a task whose output may have so many bytes.
    pub fn verdict(&self, output_max: usize) -> Verdict {
        let output = self
            .output
            .filter(|output| *output != "null" || !self.failed);
        if let Some(output) = output
            && output.len() > output_max
        {
            let bytes = output.len();
            return Verdict::unreadable(&format!(
                "the output has {bytes} bytes; at most {output_max} are allowed"
            ));
        }
        if output.is_some_and(is_too_deep) {
            return Verdict::unreadable(&format!(
                "the output is nested deeper than {DEPTH_MAX} levels"
            ));
        }
        if output.is_some_and(|output| !is_unicode(output)) {
            return Verdict::unreadable("the output has half a surrogate pair in a `\\u` escape");
        }
        if self.failed {
            let output = output.map_or_else(
                || {
                    let message = self.message.filter(|message| !message.is_empty());
                    failed(
                        self.code,
                        message.unwrap_or("the member reported a failure"),
                    )
                },
                Into::into,
            );
            let retryable = self.retryable;
            return Verdict::Failed { output, retryable };
        }
        let outcome = self.outcome.unwrap_or(SUCCESS);
        if !is_allowed(outcome) {
            return Verdict::unreadable(&format!(
                "\"{outcome}\" is not an outcome that an action may answer; use 1 to {OUTCOME_MAX} bytes, not beginning with an underscore"
            ));
        }
        Verdict::Outcome {
            outcome: outcome.into(),
            output: output.unwrap_or(EMPTY).into(),
        }
    }
}

/// Whether an action may answer with that outcome.
pub fn is_allowed(outcome: &str) -> bool {
    (1..=OUTCOME_MAX).contains(&outcome.len())
        && !outcome.starts_with('_')
        && !OF_THE_ENGINE.contains(&outcome)
}

/// The outcome and the output of what a processor returned: an object of only `outcome` and
/// `output` names its outcome.
pub fn of_processor(data: &str) -> (Option<String>, &str) {
    let named = || {
        let members: BTreeMap<String, &RawValue> = serde_json::from_str(data).ok()?;
        let has_others = members
            .keys()
            .any(|name| !matches!(name.as_str(), "outcome" | "output"));
        if has_others {
            return None;
        }
        let outcome = serde_json::from_str(members.get("outcome")?.get()).ok()?;
        let output = members.get("output").map_or(EMPTY, |output| output.get());
        Some((outcome, output))
    };
    named().map_or((None, data), |(outcome, output)| (Some(outcome), output))
}

/// The output of a failure.
pub(super) fn failed(code: Option<&str>, message: &str) -> Arc<str> {
    let output = match code {
        Some(code) => json!({"error": message, "error_code": code}),
        None => json!({ "error": message }),
    };
    output.to_string().into()
}

/// A task that failed as its member says.
pub(super) fn failure(output: Arc<str>) -> Answer {
    Answer::Outcome {
        outcome: "failure".into(),
        output,
    }
}

/// A task that has no answer that counts.
pub(super) fn by_engine(code: &str, message: &str) -> Answer {
    Answer::Lost {
        code: code.into(),
        message: message.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(outcome: &str, output: &str) -> Verdict {
        Verdict::Outcome {
            outcome: outcome.into(),
            output: output.into(),
        }
    }

    #[test]
    fn an_answer_means_what_it_says() {
        let empty = Answered::default();
        assert_eq!(empty.verdict(10), outcome("success", "{}"));
        for (name, allowed) in [
            ("approved", true),
            ("pending", true),
            ("timeout", true),
            ("", false),
            ("_start", false),
            ("execution_failure", false),
            ("target_not_found", false),
            ("target_disabled", false),
            (&"é".repeat(64), true),
            (&"é".repeat(65), false),
        ] {
            let answered = Answered {
                outcome: Some(name),
                output: Some("1"),
                ..Answered::default()
            };
            let expected = outcome(name, "1");
            assert_eq!(answered.verdict(10) == expected, allowed, "{name}");
        }
        let large = Answered {
            output: Some("\"12345678\""),
            ..Answered::default()
        };
        assert_eq!(large.verdict(10), outcome("success", "\"12345678\""));
        assert!(matches!(large.verdict(9), Verdict::Invalid { .. }));
    }

    #[test]
    fn a_failure_has_an_output() {
        for (output, code, message, expected) in [
            (
                None,
                Some("X"),
                Some("no"),
                r#"{"error":"no","error_code":"X"}"#,
            ),
            (None, None, Some("no"), r#"{"error":"no"}"#),
            (
                None,
                None,
                None,
                r#"{"error":"the member reported a failure"}"#,
            ),
            (Some("[1]"), Some("X"), Some("no"), "[1]"),
        ] {
            let answered = Answered {
                failed: true,
                output,
                code,
                message,
                ..Answered::default()
            };
            let failed = Verdict::Failed {
                output: expected.into(),
                retryable: false,
            };
            assert_eq!(answered.verdict(100), failed);
        }
    }

    #[test]
    fn what_a_processor_returns_may_name_its_outcome() {
        for (data, name, output) in [
            (r#"{"a":1}"#, None, r#"{"a":1}"#),
            (
                r#"{"outcome":"late","output":{"a":1}}"#,
                Some("late"),
                r#"{"a":1}"#,
            ),
            (r#"{"outcome":"late"}"#, Some("late"), "{}"),
            (
                r#"{"outcome":"late","more":1}"#,
                None,
                r#"{"outcome":"late","more":1}"#,
            ),
            (
                r#"{"outcome":1,"output":2}"#,
                None,
                r#"{"outcome":1,"output":2}"#,
            ),
            (r#"{"output":2}"#, None, r#"{"output":2}"#),
            ("{}", None, "{}"),
            ("[1]", None, "[1]"),
        ] {
            assert_eq!(of_processor(data), (name.map(str::to_owned), output));
        }
    }
}
