//! Why executions failed: read from their outputs, and kept where nothing else keeps it.

use std::sync::Arc;

use super::{
    history::EventKind,
    machine::{Machine, Output, failure_output},
    run::RunError,
};
use crate::text;

/// How many bytes are kept of the output of a failed execution that another follows.
const KEPT_MAX: usize = 4 << 10;

impl Machine<'_> {
    /// Keeps the output of a failed execution with the event of its end: another follows, so the
    /// end of the step does not have it.
    pub(super) fn keep_reason(&mut self, output: &Output) {
        let (Output::Text(text), Some(event)) = (output, self.history.last_mut()) else {
            return;
        };
        let is_end = matches!(
            event.kind,
            EventKind::ActionCompleted | EventKind::ActionLost
        );
        // The value of an end within the turn may be the input of the pass.
        if is_end && event.data.is_none() {
            let kept = bounded(text);
            self.run.history_bytes += kept.len() as u64;
            event.data = Some(kept);
        }
    }
}

/// Why an execution failed, from an output as [`failure_output`] writes it.
pub(super) fn reason_of(output: &str) -> Option<RunError> {
    #[derive(serde::Deserialize)]
    struct Reason {
        error: Box<str>,
        #[serde(default)]
        error_code: Option<Box<str>>,
    }
    let reason: Reason = serde_json::from_str(output).ok()?;
    Some(RunError {
        code: reason.error_code,
        message: reason.error,
    })
}

/// The output, or what of its reason is kept.
fn bounded(output: &Arc<str>) -> Arc<str> {
    if output.len() <= KEPT_MAX {
        return Arc::clone(output);
    }
    let Some(RunError { code, message }) = reason_of(output) else {
        let message = format!("the output was not kept: it had {} bytes", output.len());
        return serde_json::json!({ "error": message }).to_string().into();
    };
    let part = text::start(&message, KEPT_MAX / 2);
    let code = code.filter(|code| code.len() <= KEPT_MAX / 4);
    code.map_or_else(
        || serde_json::json!({ "error": part }).to_string().into(),
        |code| failure_output(&code, part),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_large_output_the_reason_is_kept() {
        let small: Arc<str> = r#"{"error":"no"}"#.into();
        assert_eq!(bounded(&small), small);
        let long = "é".repeat(KEPT_MAX);
        let kept = bounded(&failure_output("E1", &long));
        let reason = reason_of(&kept).expect("a reason");
        assert_eq!(reason.code.as_deref(), Some("E1"));
        assert!(long.starts_with(&*reason.message) && kept.len() <= KEPT_MAX);
        let other: Arc<str> = format!("\"{long}\"").into();
        let reason = reason_of(&bounded(&other)).expect("a reason");
        let expected = format!("the output was not kept: it had {} bytes", other.len());
        assert_eq!(*reason.message, *expected);
    }
}
