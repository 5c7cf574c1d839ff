//! A run as `flo` shows it.

use crate::text;
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};

/// How many bytes of an error a table shows.
const FAULT_BYTES_MAX: usize = 120;

/// A run as the service answers it; what no command shows is left out.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::cli) struct Run {
    #[serde(rename = "runId")]
    pub(in crate::cli) id: String,
    pub(in crate::cli) definition: Definition,
    pub(in crate::cli) status: String,
    #[serde(default)]
    pub(in crate::cli) current_step: Option<String>,
    #[serde(default)]
    input: Option<Box<RawValue>>,
    #[serde(default)]
    output: Option<Box<RawValue>>,
    pub(in crate::cli) created_at: String,
    #[serde(default)]
    started_at: Option<String>,
    #[serde(default)]
    finished_at: Option<String>,
    #[serde(default)]
    waiting: Option<Waiting>,
    /// Of a saga that was undone: whether all of it was.
    #[serde(default)]
    pub(in crate::cli) compensated: Option<bool>,
    #[serde(default)]
    compensation_errors: Vec<Box<RawValue>>,
    #[serde(default)]
    parent_run_id: Option<String>,
    #[serde(default)]
    error: Option<RunError>,
    #[serde(default)]
    steps: IndexMap<String, StepResult>,
}

#[derive(Debug, Deserialize)]
pub(in crate::cli) struct Definition {
    pub(in crate::cli) name: String,
    pub(in crate::cli) version: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct Waiting {
    #[serde(rename = "for")]
    what: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    until: Option<String>,
}

#[derive(Debug, Deserialize)]
struct RunError {
    #[serde(default)]
    code: Option<String>,
    message: String,
}

#[derive(Debug, Deserialize)]
struct StepResult {
    outcome: String,
    #[serde(default)]
    output: Value,
}

impl StepResult {
    /// What went wrong in a step, as its output says it.
    fn fault(&self) -> Option<String> {
        let text = |name: &str| self.output.get(name).and_then(Value::as_str);
        let message = text("message").or_else(|| text("error"))?;
        Some(with_code(
            text("code").or_else(|| text("error_code")),
            message,
        ))
    }
}

/// A message after its code, if there is one.
fn with_code(code: Option<&str>, message: &str) -> String {
    code.map_or_else(|| message.to_owned(), |code| format!("{code}: {message}"))
}

/// What `flo workflow status` prints; the order of the members is part of it.
#[derive(Serialize)]
struct StatusLine<'a> {
    run_id: &'a str,
    workflow: &'a str,
    version: &'a str,
    status: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    current_step: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<&'a RawValue>,
    created_at: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    completed_at: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    wait_signal: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_run_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// What it waits for besides a signal.
    #[serde(skip_serializing_if = "Option::is_none")]
    waiting: Option<&'a Waiting>,
    #[serde(skip_serializing_if = "Option::is_none")]
    compensated: Option<bool>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    compensation_errors: &'a [Box<RawValue>],
}

impl Run {
    pub(in crate::cli) fn is_finished(&self) -> bool {
        matches!(
            &*self.status,
            "completed" | "failed" | "cancelled" | "timed_out"
        )
    }

    /// The input with the digits that it was given with, which programs such as `jq` round.
    pub(in crate::cli) fn input(&self) -> &str {
        self.input.as_deref().map_or("{}", RawValue::get)
    }

    /// One line of JSON.
    pub(in crate::cli) fn status_line(&self) -> String {
        let waiting = self.waiting.as_ref();
        let awaited = waiting.filter(|wait| wait.what == "signal");
        let line = StatusLine {
            run_id: &self.id,
            workflow: &self.definition.name,
            version: &self.definition.version,
            status: &self.status,
            current_step: self.current_step.as_deref(),
            input: self.input.as_deref(),
            output: self.output.as_deref(),
            created_at: &self.created_at,
            started_at: self.started_at.as_deref(),
            completed_at: self.finished_at.as_deref(),
            wait_signal: awaited.and_then(|wait| wait.name.as_deref()),
            parent_run_id: self.parent_run_id.as_deref(),
            error: self.fault(),
            waiting: waiting.filter(|_| awaited.is_none()),
            compensated: self.compensated,
            compensation_errors: &self.compensation_errors,
        };
        serde_json::to_string(&line).unwrap_or_default()
    }

    /// Why it has failed, for a cell of a table: one line of no great length.
    pub(in crate::cli) fn fault_in_short(&self) -> String {
        let fault = self.fault().unwrap_or_default();
        let line = fault.lines().next().unwrap_or_default();
        let start = text::start(line, FAULT_BYTES_MAX);
        if start.len() == fault.len() {
            return fault;
        }
        format!("{start}…")
    }

    /// Why it has failed: its own error, or what the last step says that did not succeed.
    fn fault(&self) -> Option<String> {
        if let Some(error) = &self.error {
            return Some(with_code(error.code.as_deref(), &error.message));
        }
        let steps = self.steps.iter().rev().filter(|_| self.status == "failed");
        let mut failed = steps.filter(|(_, step)| step.outcome != "success");
        failed.find_map(|(name, step)| Some(format!("step {name}: {}", step.fault()?)))
    }
}
#[cfg(test)]
mod tests {
    use super::*;

    fn run(text: &str) -> Run {
        serde_json::from_str(text).expect("a run")
    }

    #[test]
    fn the_status_line_leaves_out_what_is_absent() {
        let run = run(r#"{"runId":"wfrun-1","kind":"flo","namespace":"default",
            "definition":{"name":"order","version":"1.0.0","digest":"00"},"status":"pending",
            "input":{"amount":99.990},"steps":{},"signals":[],"createdAt":"t0","lastSequence":1}"#);
        assert_eq!(run.input(), r#"{"amount":99.990}"#);
        assert_eq!(
            run.status_line(),
            r#"{"run_id":"wfrun-1","workflow":"order","version":"1.0.0","status":"pending","input":{"amount":99.990},"created_at":"t0"}"#
        );
    }

    #[test]
    fn a_run_that_a_step_has_failed_says_why() {
        let failed = |output: &str| {
            run(&format!(
                r#"{{"runId":"r","definition":{{"name":"w","version":"1"}},"status":"failed","createdAt":"t0",
                "steps":{{"a":{{"outcome":"success","output":{{"error":"no"}}}},
                "b":{{"outcome":"failure","output":{output}}},"c":{{"outcome":"success"}}}}}}"#
            ))
            .fault()
        };
        let known = failed(r#"{"code":"MODEL_NOT_FOUND","message":"none"}"#);
        assert_eq!(known.as_deref(), Some("step b: MODEL_NOT_FOUND: none"));
        let said = failed(r#"{"error":"declined"}"#);
        assert_eq!(said.as_deref(), Some("step b: declined"));
        assert_eq!(failed("7"), None);
    }

    #[test]
    fn a_saga_that_was_undone_says_so() {
        let text = r#"{"runId":"r","definition":{"name":"w","version":"1"},"status":"failed",
            "error":{"code":"DECLINED","message":"no\nmoney"},"compensated":true,"createdAt":"t0"}"#;
        let undone = run(text);
        let line = undone.status_line();
        assert!(
            line.ends_with(r#""error":"DECLINED: no\nmoney","compensated":true}"#),
            "{line}"
        );
        assert_eq!(undone.fault_in_short(), "DECLINED: no…");
        let long = run(&text.replace("no\\nmoney", &"ä".repeat(100)));
        assert_eq!(
            long.fault_in_short(),
            format!("DECLINED: {}…", "ä".repeat(55))
        );
        let short = run(&text.replace("no\\nmoney", "no"));
        assert_eq!(short.fault_in_short(), "DECLINED: no");
    }

    #[test]
    fn the_status_line_has_its_members_in_order() {
        let waiting = run(
            r#"{"runId":"r","definition":{"name":"w","version":"1"},"status":"waiting",
            "error":{"code":"CONFLICT","message":"lost"},"parentRunId":"p","finishedAt":"t2","startedAt":"t1",
            "waiting":{"for":"signal","name":"approval","until":"t9"},"output":null,"input":{},
            "currentStep":"await","createdAt":"t0"}"#,
        );
        assert_eq!(
            waiting.status_line(),
            r#"{"run_id":"r","workflow":"w","version":"1","status":"waiting","current_step":"await","input":{},"created_at":"t0","started_at":"t1","completed_at":"t2","wait_signal":"approval","parent_run_id":"p","error":"CONFLICT: lost"}"#
        );
        let parked = run(
            r#"{"runId":"r","definition":{"name":"w","version":"1"},"status":"waiting",
            "waiting":{"for":"task","name":"charge"},"output":{"a":1},"error":{"message":"late"},"createdAt":"t0"}"#,
        );
        assert_eq!(
            parked.status_line(),
            r#"{"run_id":"r","workflow":"w","version":"1","status":"waiting","output":{"a":1},"created_at":"t0","error":"late","waiting":{"for":"task","name":"charge"}}"#
        );
    }
}
